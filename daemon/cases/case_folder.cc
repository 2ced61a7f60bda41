#include "daemon/cases/case_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "daemon/base/descriptors.h"
#include "daemon/process/session_lane.h"

namespace filibuster::cases {
namespace {

constexpr off_t kMostFile = 64 * 1024 * 1024;

// nullopt, with errno: there is none, or it is no file.
std::optional<std::string> bytes_of_file(const std::string& path) {
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat status;
  if (!file.valid() || fstat(file.get(), &status) != 0) return std::nullopt;
  if (!S_ISREG(status.st_mode) || status.st_size > kMostFile) {
    errno = S_ISREG(status.st_mode) ? EFBIG : EINVAL;
    return std::nullopt;
  }
  std::string out;
  char part[64 * 1024];
  for (;;) {
    const ssize_t size = read(file.get(), part, sizeof part);
    if (size == 0) return out;
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return std::nullopt;
    out.append(part, static_cast<size_t>(size));
  }
}

std::vector<ConfigError> unreadable(const std::string& path) {
  return {{path, 0, 0, std::string("the file cannot be read: ") + std::strerror(errno)}};
}

}  // namespace

ReadBeside beside(const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash);
  return [folder](const std::string& name) { return bytes_of_file(folder + "/" + name); };
}

ReadCase load_case(const std::string& path, Seal seal) {
  const auto text = bytes_of_file(path);
  if (text) return read_case(*text, path, beside(path), seal);
  ReadCase out;
  out.errors = unreadable(path);
  return out;
}

ReadProcess load_process(const std::string& path, Seal seal) {
  const auto text = bytes_of_file(path);
  if (text) return read_process(*text, path, beside(path), seal);
  ReadProcess out;
  out.errors = unreadable(path);
  return out;
}

ReadSet load_set(const std::string& path) {
  const auto text = bytes_of_file(path);
  if (text) return read_set(*text, path);
  ReadSet out;
  out.errors = unreadable(path);
  return out;
}

Result<void> save_file(const std::string& folder, const WrittenFile& file) {
  for (const auto& [name, bytes] : file.beside) {
    if (auto written = write_file(folder + "/" + name, bytes); !written) return written;
  }
  return write_file(folder + "/" + file.name + ".json", file.text);
}

}  // namespace filibuster::cases
