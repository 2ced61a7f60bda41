#include "daemon/coverage/programs.h"

#include <gtest/gtest.h>

#include "tests/unit/temporary_folder.h"

namespace filibuster::coverage {
namespace {

constexpr char kPath[] = "/usr/bin:/bin";

class Programs : public testing::Test {
 protected:
  ServiceProgram look(const std::vector<std::string>& argv) {
    return look_at_program(argv, folder_.path(), kPath);
  }
  TemporaryFolder folder_;
};

TEST_F(Programs, PythonIsKnownBehindAShellAndAScript) {
  folder_.write("serve", "#!/usr/bin/env python3\nprint()\n");
  for (const std::vector<std::string>& argv : {std::vector<std::string>{"python3", "users.py"},
                                               {"./serve"},
                                               {"/bin/sh", "-c", "exec ./serve 80"}}) {
    const ServiceProgram found = look(argv);
    EXPECT_TRUE(found.certain) << argv[0];
    EXPECT_EQ(found.languages, std::set<Language>{Language::kPython}) << argv[0];
    EXPECT_EQ(found.program, "/usr/bin/python3") << argv[0];
  }
}

TEST_F(Programs, AShellScriptMayStartAnything) {
  folder_.write("start.sh", "#!/bin/sh\nexec python3 users.py\n");
  const ServiceProgram found = look({"./start.sh"});
  EXPECT_FALSE(found.certain);
  EXPECT_EQ(found.languages.size(), 4u);
  EXPECT_EQ(found.reason, "");
}

TEST_F(Programs, AProgramBuiltWithCoverageIsKnownByTheNamesOfItsData) {
  // What matters is that the name ends there: a program that only mentions the suffix is none.
  const std::string elf = "\177ELF" + std::string(60, '\0');
  folder_.write("with", elf + std::string("/b/main.gcda\0", 13));
  folder_.write("mentions", elf + "files end with .gcda or .gcno");
  EXPECT_EQ(look({"./with"}).languages, std::set<Language>{Language::kNative});
  const ServiceProgram without = look({"./mentions"});
  EXPECT_TRUE(without.languages.empty());
  EXPECT_NE(without.reason.find("was not built with gcc's --coverage"), std::string::npos);
}

}  // namespace
}  // namespace filibuster::coverage
