#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "cli/configuration.h"
#include "cli/program_check.h"
#include "cli/verb.h"
#include "core/program/elf_image.h"
#include "core/text/shell_word.h"
#include "core/version.h"
#include "daemon/base/own_files.h"

namespace filibuster::cli {
namespace {

constexpr size_t kMaxLibrary = 512u << 20;  // bytes, with debugging information

enum class State { kGood, kMissing, kInformation };
struct Line {
  std::string subject;
  State state;
  std::string text;
};

Line check_beside(const char* subject, const std::string& path) {
  const bool there = access(path.c_str(), R_OK) == 0;
  return {subject, there ? State::kGood : State::kMissing, there ? path : path + " is not there"};
}

// What a command prints; "" if it cannot be started.
std::string printed_by(const std::string& command) {
  FILE* const pipe = popen(command.c_str(), "re");
  std::string text;
  char buffer[4096];
  for (size_t got = 0; pipe != nullptr && (got = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;)
    text.append(buffer, got);
  if (pipe != nullptr) pclose(pipe);
  return text;
}

// The lines of filibuster-host (cli/host.c): what the programs of this machine meet.
std::vector<std::string> lines_of_host() {
  std::istringstream printed(
      printed_by(shell_word(helper_path("filibuster-host")) + " 2>/dev/null"));
  std::vector<std::string> lines;
  for (std::string line; std::getline(printed, line);) lines.push_back(line);
  return lines;
}

Line check_glibc(const std::vector<std::string>& host) {
  const Result<std::string> bytes = read_file(preload_path(), kMaxLibrary);
  const auto image = bytes.ok() ? read_elf(bytes.value()) : std::nullopt;
  if (!image) return {"glibc", State::kMissing, "libfilibuster.so cannot be read"};
  const std::string highest = highest_glibc(image->versions);
  std::string text =
      "libfilibuster.so needs GLIBC_" + (highest.empty() ? "(none)" : highest) + " or later";
  constexpr std::string_view kVersion = "glibc ";
  if (host.empty() || !host.front().starts_with(kVersion))
    return {
        "glibc", State::kMissing,
        text + "; " + helper_path("filibuster-host") + " does not run, as any program of glibc"};
  return {"glibc", State::kGood, text + "; here is " + host.front().substr(kVersion.size())};
}

Line check_libunwind(const std::vector<std::string>& host) {
  if (std::find(host.begin(), host.end(), "libunwind.so.8") == host.end()) {
    return {"libunwind", State::kMissing,
            "libunwind.so.8 was not found: call sites of native programs are not "
            "told apart (Debian: libunwind8)"};
  }
  return {"libunwind", State::kGood, "libunwind.so.8"};
}

Line check_python() {
  FILE* const pipe = popen("/usr/bin/python3 --version 2>&1", "re");
  char buffer[128] = {};
  const size_t got = pipe == nullptr ? 0 : std::fread(buffer, 1, sizeof buffer - 1, pipe);
  const int status = pipe == nullptr ? -1 : pclose(pipe);
  std::string text(buffer, got);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  if (status != 0)
    return {"python", State::kInformation, "/usr/bin/python3 is not there (the examples need it)"};
  return {"python", State::kGood, "/usr/bin/python3, " + text};
}

Line check_kernel() {
  utsname names{};
  uname(&names);
  return {"kernel", State::kInformation,
          std::string(names.sysname) + " " + names.release + " " + names.machine};
}

// What the loader of eBPF programs says of each feature (bpf/loader/probe.h).
std::vector<Line> check_bpf() {
  const std::string program = helper_path("filibuster-bpf");
  if (access(program.c_str(), X_OK) != 0)
    return {{"attach", State::kInformation,
             program + " is not there: services that run already cannot be attached"}};
  const auto rows =
      nlohmann::json::parse(printed_by(shell_word(program) + " probe 2>/dev/null"), nullptr, false);
  if (!rows.is_array()) return {{"attach", State::kInformation, program + " probe says nothing"}};
  std::vector<Line> out;
  for (const auto& row : rows) {
    if (!row.is_object()) continue;
    const bool works = row.value("works", false);
    std::string said = row.value("feature", "?") + ": " + row.value("answer", "?");
    if (const std::string what = row.value("what_to_do", ""); !what.empty()) said += "; " + what;
    out.push_back({"attach", works ? State::kGood : State::kInformation, said});
  }
  return out;
}

void print_line(const Line& line) {
  const char* const mark = line.state == State::kGood      ? "ok"
                           : line.state == State::kMissing ? "MISSING"
                                                           : "-";
  std::printf("%-11s %-8s %s\n", line.subject.c_str(), mark, line.text.c_str());
}

int check_machine() {
  std::printf("filibuster %s\n", kVersion);
  const std::vector<std::string> host = lines_of_host();
  bool usable = true;
  const Line needed[] = {check_beside("preload", preload_path()),
                         check_beside("daemon", own_directory() + "/filibusterd"),
                         check_glibc(host)};
  for (const Line& line : needed) {
    print_line(line);
    usable = usable && line.state != State::kMissing;
  }
  for (const Line& line : {check_libunwind(host), check_python(), check_kernel()}) print_line(line);
  for (const Line& line : check_bpf()) print_line(line);
  return usable ? 0 : kEnvironment;
}

// Prints a line if the program is setuid or setgid, but gives this user no further rights: it can be
// interposed for this user, and not for others.
void explain_rights(const std::string& file) {
  struct stat status {};
  if (stat(file.c_str(), &status) != 0 || (status.st_mode & (S_ISUID | S_ISGID)) == 0) return;
  const char* const kind = (status.st_mode & S_ISUID) != 0 ? "setuid" : "setgid";
  const unsigned owner = (status.st_mode & S_ISUID) != 0 ? status.st_uid : status.st_gid;
  std::printf(
      "%s is %s to %u, which you are already: it gains no rights, so the loader keeps "
      "LD_PRELOAD; started by another user it cannot be interposed\n",
      file.c_str(), kind, owner);
}

int check_name(const std::string& name) {
  const Result<ProgramCheck> result = check_program(name);
  if (!result) return complain(kUsage, result.error().message);
  for (const std::string& remark : result->remarks) std::printf("%s\n", remark.c_str());
  if (result->obstacles.empty()) {
    explain_rights(result->file);
    std::printf("%s can be interposed\n", result->file.c_str());
    return 0;
  }
  std::printf("%s cannot be interposed:\n", result->file.c_str());
  for (const std::string& obstacle : result->obstacles) std::printf("  it %s\n", obstacle.c_str());
  std::printf(
      "\"interpose\": \"bpf\" in its row of the configuration reaches it from outside (docs/attach.md)\n");
  return 1;
}

Work declare_doctor(CLI::App&) {
  return [](const Invocation& invocation) {
    if (!invocation.has_command) return check_machine();
    if (invocation.command.empty())
      return complain(kUsage, "which program? `filibuster doctor -- ./program`");
    return check_name(invocation.command[0]);
  };
}

}  // namespace

const Verb kDoctorVerb = {
    "doctor", "what is on this machine; with '-- PROGRAM': can it be interposed?",
    "  filibuster doctor\n"
    "  filibuster doctor -- ./users\n"
    "\nExit status: 0 usable, 1 the program cannot be interposed, 2 usage, 3 a part is missing;\n"
    "filibuster(1) has the table.\n",
    "[-- PROGRAM]", declare_doctor};

}  // namespace filibuster::cli
