#include "cli/output_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace filibuster::cli {
namespace {

constexpr mode_t kMode = 0666;  // what the user's umask leaves of it

Error cannot_write(const std::string& path, int error) {
  return Error{"cannot write " + path + ": " + std::strerror(error)};
}

}  // namespace

Result<void> write_output(const std::string& path, std::string_view text) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kMode);
  if (fd < 0) return cannot_write(path, errno);
  while (!text.empty()) {
    const ssize_t size = write(fd, text.data(), text.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) {
      const int error = size < 0 ? errno : EIO;
      close(fd);
      return cannot_write(path, error);
    }
    text.remove_prefix(static_cast<size_t>(size));
  }
  if (close(fd) != 0) return cannot_write(path, errno);
  return {};
}

Result<void> replace_file(const std::string& path, std::string_view text) {
  std::error_code failed;
  const std::filesystem::path whole = std::filesystem::weakly_canonical(path, failed);
  const std::string target = failed ? path : whole.string();
  const std::string temporary = target + ".new";
  if (auto written = write_output(temporary, text); !written) {
    unlink(temporary.c_str());
    return written;
  }
  if (rename(temporary.c_str(), target.c_str()) == 0) return {};
  const int error = errno;
  unlink(temporary.c_str());
  return cannot_write(path, error);
}

}  // namespace filibuster::cli
