#include "daemon/base/process_table.h"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>

#include "daemon/base/file_text.h"

namespace filibuster {
namespace {

constexpr int kExecTries = 100;
constexpr useconds_t kExecPauseMicroseconds = 200;

std::string text_of_process(pid_t pid, const char* file) {
  std::ifstream stream("/proc/" + std::to_string(pid) + "/" + file);
  return stream ? text_of(stream) : "";
}

// In the middle of exec a process has its new name and program, and not all of its arguments and environment yet: the
// kernel tells where its code begins after these. A thread of the kernel has no program.
bool is_in_exec(pid_t pid) {
  const std::string text = text_of_process(pid, "stat");
  const size_t end = text.rfind(')');
  if (end == std::string::npos) return false;
  std::istringstream fields(text.substr(end + 1));
  std::string skipped, code_begins;
  for (int field = 3; field < 26; ++field) fields >> skipped;
  fields >> code_begins;
  char program[1];
  const std::string link = "/proc/" + std::to_string(pid) + "/exe";
  return code_begins == "0" && readlink(link.c_str(), program, sizeof program) > 0;
}

std::vector<pid_t> children_of_threads(pid_t parent) {
  std::vector<pid_t> out;
  const std::string tasks = "/proc/" + std::to_string(parent) + "/task";
  std::error_code failed;
  for (const auto& task : std::filesystem::directory_iterator(tasks, failed)) {
    std::ifstream list(task.path() / "children");
    for (pid_t pid = 0; list >> pid;) out.push_back(pid);
  }
  return out;
}

}  // namespace

std::optional<ProcessStat> process_stat(pid_t pid) {
  const std::string text = text_of_process(pid, "stat");
  // The name (field 2) may hold anything, so the other fields are counted from the last ')'.
  const size_t begin = text.find('('), end = text.rfind(')');
  if (begin == std::string::npos || end == std::string::npos) return std::nullopt;
  ProcessStat out;
  out.name = text.substr(begin + 1, end - begin - 1);
  std::istringstream fields(text.substr(end + 1));
  fields >> out.state >> out.parent >> out.group;
  std::string skipped;
  for (int field = 6; field < 20; ++field) fields >> skipped;
  fields >> out.threads >> skipped >> out.start_time;
  if (!fields) return std::nullopt;
  return out;
}

std::optional<uid_t> process_user(pid_t pid) {
  std::istringstream text(text_of_process(pid, "status"));
  for (std::string line; std::getline(text, line);) {
    uid_t real = 0, effective = 0;
    if (sscanf(line.c_str(), "Uid: %u %u", &real, &effective) == 2) return effective;
  }
  return std::nullopt;
}

void for_each_process(const std::function<void(pid_t)>& see) {
  DIR* const folder = opendir("/proc");
  if (folder == nullptr) return;
  while (const dirent* entry = readdir(folder)) {
    if (const pid_t pid = atoi(entry->d_name); pid > 0) see(pid);
  }
  closedir(folder);
}

std::vector<pid_t> children_of_this_process() {
  const std::string self = std::to_string(getpid());
  std::vector<pid_t> out;
  std::ifstream list("/proc/self/task/" + self + "/children");
  if (list) {
    for (pid_t pid = 0; list >> pid;) out.push_back(pid);
    return out;
  }
  for_each_process([&](pid_t pid) {
    const auto stat = process_stat(pid);
    if (stat && stat->parent == getpid()) out.push_back(pid);
  });
  return out;
}

bool has_descendant_of(uid_t user) {
  std::vector<pid_t> open = children_of_threads(getpid());
  while (!open.empty()) {
    const pid_t pid = open.back();
    open.pop_back();
    if (process_user(pid) == user) return true;
    for (const pid_t child : children_of_threads(pid)) open.push_back(child);
  }
  return false;
}

std::string environment_of(pid_t pid, const std::string& name) {
  std::string text = text_of_process(pid, "environ");
  // What is read after a process was seen outside of exec is all that there is.
  bool unfinished = true;
  for (int tries = 0; tries < kExecTries && text.empty() && unfinished; ++tries) {
    if (tries > 0) usleep(kExecPauseMicroseconds);
    unfinished = is_in_exec(pid);
    text = text_of_process(pid, "environ");
  }
  const std::string wanted = name + "=";
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\0', at), text.size());
    const std::string_view entry(text.data() + at, end - at);
    if (entry.starts_with(wanted)) return std::string(entry.substr(wanted.size()));
    at = end + 1;
  }
  return "";
}

}  // namespace filibuster
