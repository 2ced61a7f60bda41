// A file's bytes, mapped: programs can be large and only a few pages of them are read.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <string_view>

namespace filibuster {

// Inline, so that the preloaded library, which does not need it, is linked without it.
class MappedFile {
 public:
  explicit MappedFile(const std::string& path) {
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat status {};
    if (fd >= 0 && fstat(fd, &status) == 0 && status.st_size > 0) {
      size_ = static_cast<size_t>(status.st_size);
      data_ = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, fd, 0);
    }
    if (fd >= 0) close(fd);
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile() {
    if (data_ != MAP_FAILED) munmap(data_, size_);
  }

  // Empty where the file is empty or cannot be read.
  std::string_view bytes() const {
    return data_ == MAP_FAILED ? std::string_view()
                               : std::string_view(static_cast<char*>(data_), size_);
  }

 private:
  void* data_ = MAP_FAILED;
  size_t size_ = 0;
};

}  // namespace filibuster
