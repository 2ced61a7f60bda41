#include "bpf/loader/kernel.h"

#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <fstream>
#include <sstream>
#include <vector>

namespace filibuster::bpf {
namespace {

// Calls `take` with each line, without its end.
template <typename Take>
void each_line(std::string_view text, Take take) {
  while (!text.empty()) {
    const size_t end = text.find('\n');
    take(text.substr(0, end));
    if (end == std::string_view::npos) return;
    text.remove_prefix(end + 1);
  }
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  size_t at = 0;
  while ((at = line.find_first_not_of(" \t", at)) != std::string_view::npos) {
    const size_t end = line.find_first_of(" \t", at);
    words.push_back(line.substr(at, end == std::string_view::npos ? end : end - at));
    if (end == std::string_view::npos) break;
    at = end;
  }
  return words;
}

template <typename Number>
std::optional<Number> number_of(std::string_view text, int base = 10) {
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// fstab(5): space, tab, newline and backslash stand as \040 and so on.
std::string without_escapes(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto code = text[i] == '\\' && i + 3 < text.size()
                          ? number_of<unsigned>(text.substr(i + 1, 3), 8)
                          : std::nullopt;
    if (code && *code < 256) {
      plain += static_cast<char>(*code);
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

}  // namespace

std::string cgroup2_mount(std::string_view mounts) {
  std::string found;
  each_line(mounts, [&](std::string_view line) {
    const auto words = words_of(line);
    if (found.empty() && words.size() >= 3 && words[2] == "cgroup2")
      found = without_escapes(words[1]);
  });
  return found;
}

std::string lockdown_mode_of(std::string_view text) {
  const size_t open = text.find('['), close = text.find(']');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return "";
  return std::string(text.substr(open + 1, close - open - 1));
}

std::string lockdown_mode() {
  return lockdown_mode_of(text_of("/sys/kernel/security/lockdown"));
}

std::optional<uint64_t> start_time_of(std::string_view stat) {
  const size_t name_end = stat.rfind(')');
  if (name_end == std::string_view::npos) return std::nullopt;
  const auto fields = words_of(stat.substr(name_end + 1));
  constexpr size_t kStartTime = 22 - 3;  // the first field after the name is number 3
  if (fields.size() <= kStartTime) return std::nullopt;
  return number_of<uint64_t>(fields[kStartTime]);
}

std::string status_field(std::string_view status, std::string_view name) {
  std::string value;
  each_line(status, [&](std::string_view line) {
    if (!line.starts_with(name) || line.size() <= name.size() || line[name.size()] != ':') return;
    line.remove_prefix(name.size() + 1);
    const size_t start = line.find_first_not_of(" \t");
    value = start == std::string_view::npos ? "" : std::string(line.substr(start));
  });
  return value;
}

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return file ? text.str() : "";
}

std::string proc_file(pid_t pid, const char* name) {
  return "/proc/" + std::to_string(pid) + "/" + name;
}

uint64_t namespace_of(pid_t pid, const char* kind) {
  struct stat state {};
  const std::string path = proc_file(pid, (std::string("ns/") + kind).c_str());
  return stat(path.c_str(), &state) == 0 ? state.st_ino : 0;
}

uint64_t namespace_of_descriptor(int fd) {
  struct stat state {};
  return fstat(fd, &state) == 0 ? state.st_ino : 0;
}

}  // namespace filibuster::bpf
