#include "bpf/loader/kernel.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace filibuster::bpf {
namespace {

TEST(Cgroup2Mount, IsFoundInAHybridLayout) {
  EXPECT_EQ(cgroup2_mount("tmpfs /sys/fs/cgroup tmpfs rw,mode=755 0 0\n"
                          "cgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0\n"
                          "cgroup2 /sys/fs/cgroup/unified cgroup2 rw,relatime 0 0\n"),
            "/sys/fs/cgroup/unified");
}

TEST(Cgroup2Mount, IsTheOnlyOneOfAUnifiedLayout) {
  EXPECT_EQ(cgroup2_mount("proc /proc proc rw 0 0\nnone /sys/fs/cgroup cgroup2 rw 0 0"),
            "/sys/fs/cgroup");
}

TEST(Cgroup2Mount, MayHaveASpaceInItsName) {
  EXPECT_EQ(cgroup2_mount("none /mnt/my\\040groups\\134 cgroup2 rw 0 0\n"), "/mnt/my groups\\");
}

TEST(Cgroup2Mount, IsNotTakenFromTheNameOfADevice) {
  EXPECT_EQ(cgroup2_mount("cgroup2 /mnt tmpfs rw 0 0\n"), "");
  EXPECT_EQ(cgroup2_mount(""), "");
  EXPECT_EQ(cgroup2_mount("\n \nword\n"), "");
}

TEST(Lockdown, IsTheWordInBrackets) {
  EXPECT_EQ(lockdown_mode_of("none [integrity] confidentiality\n"), "integrity");
  EXPECT_EQ(lockdown_mode_of("[none] integrity confidentiality\n"), "none");
  EXPECT_EQ(lockdown_mode_of(""), "");
  EXPECT_EQ(lockdown_mode_of("]["), "");
}

TEST(StartTime, StandsBehindANameThatContainsAnything) {
  const std::string rest = " S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20 21\n";
  EXPECT_EQ(start_time_of("812 (plain)" + rest), 4711u);
  EXPECT_EQ(start_time_of("812 (a) S 1 2 (b c)" + rest), 4711u);
}

TEST(StartTime, IsNotKnownOfATextThatIsCut) {
  EXPECT_EQ(start_time_of(""), std::nullopt);
  EXPECT_EQ(start_time_of("812 (plain"), std::nullopt);
  EXPECT_EQ(start_time_of("812 (plain) S 1 2 3"), std::nullopt);
  EXPECT_EQ(start_time_of("812 (p) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 x 20"),
            std::nullopt);
}

TEST(StartTime, OfThisProcessIsKnown) {
  EXPECT_TRUE(start_time_of(text_of(proc_file(getpid(), "stat"))).has_value());
}

TEST(StatusField, IsFoundByItsWholeName) {
  const char status[] = "Name:\tFDSize: 9\nNgid:\t0\nUid:\t1\t2\t3\t4\nFDSize:\t256\nEmpty:\n";
  EXPECT_EQ(status_field(status, "FDSize"), "256");
  EXPECT_EQ(status_field(status, "Uid"), "1\t2\t3\t4");
  EXPECT_EQ(status_field(status, "Empty"), "");
  EXPECT_EQ(status_field(status, "FD"), "");
}

TEST(Namespaces, OfAProcessAndOfADescriptorAreTheSame) {
  EXPECT_NE(namespace_of(getpid(), "net"), 0u);
  EXPECT_EQ(namespace_of(getpid(), "no such kind"), 0u);
}

}  // namespace
}  // namespace filibuster::bpf
