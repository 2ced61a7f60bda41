// filibuster-bpf: holds the capabilities that eBPF needs, for a daemon and proxies that have none.
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "bpf/loader/capabilities.h"
#include "bpf/loader/objects.h"
#include "bpf/loader/probe.h"
#include "bpf/loader/serve.h"
#include "core/version.h"

namespace {

constexpr char kUsage[] =
    "usage: filibuster-bpf serve --fd N [--spare PORT] [--writes WAY] [--verbose]\n"
    "       filibuster-bpf probe [--programs] [--verbose]\n"
    "       filibuster-bpf --version\n"
    "\n"
    "serve   loads and attaches eBPF programs for the daemon at the other end of descriptor N (a Unix\n"
    "        SOCK_SEQPACKET socket), and ends with it. The daemon starts it.\n"
    "probe   tries each feature that attaching needs, and prints the kernel's answers as JSON.\n"
    "\n"
    "--spare PORT  connections to this port of the daemon are left alone; without it, those to all of its ports\n"
    "--programs    tries each program by itself instead, for tests\n"
    "--writes WAY  sees writes only in this way (tracepoint, fentry, sk_msg), for tests\n"
    "--verbose     what libbpf says goes to stderr\n";

int wrong(const char* what, const std::string& word) {
  std::fprintf(stderr, "filibuster-bpf: %s%s\n%s", what, word.c_str(), kUsage);
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace filibuster::bpf;
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.empty()) return wrong("what to do is not said", "");
  if (words[0] == "--help" || words[0] == "-h") return std::fputs(kUsage, stdout) < 0;
  if (words[0] == "--version") return std::printf("filibuster-bpf %s\n", filibuster::kVersion) < 0;

  int fd = -1;
  uint16_t spared = 0;
  bool verbose = false, programs = false;
  std::string writes;
  for (size_t i = 1; i < words.size(); ++i) {
    const std::string& word = words[i];
    const bool has_value = i + 1 < words.size();
    if (word == "--verbose") {
      verbose = true;
    } else if (word == "--programs") {
      programs = true;
    } else if (word == "--writes" && has_value) {
      writes = words[++i];
    } else if (word == "--spare" && has_value) {
      const std::string& value = words[++i];
      const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), spared);
      if (error != std::errc() || *end != 0) return wrong("no port: ", value);
    } else if (word == "--fd" && has_value) {
      const std::string& value = words[++i];
      const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), fd);
      if (error != std::errc() || *end != 0 || fcntl(fd, F_GETFD) < 0)
        return wrong("no open descriptor: ", value);
    } else {
      return wrong("not understood: ", word);
    }
  }
  let_libbpf_speak(verbose);
  keep_what_is_needed();
  if (words[0] == "probe") return programs ? probe_programs() : probe();
  if (words[0] != "serve") return wrong("no such verb: ", words[0]);
  if (fd < 0) return wrong("serve needs ", "--fd");
  // Ctrl-C at the terminal is for the daemon, which ends its loader when it is done with it.
  std::signal(SIGINT, SIG_IGN);
  std::signal(SIGPIPE, SIG_IGN);
  fcntl(fd, F_SETFD, FD_CLOEXEC);
  return serve(fd, writes, spared);
}
