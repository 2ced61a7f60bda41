// Hazards of descriptors, and of locks on their files.
#include <sys/file.h>
#include <sys/stat.h>

#include <set>

#include "tests/programs/resets/hazard.h"

namespace {

// Without those of the library, which takes numbers from 48 on, and where two children that take turns may differ.
std::set<std::string> descriptors() {
  std::set<std::string> out;
  for (int fd = 0; fd < 1024; ++fd) {
    struct stat status;
    if ((fd < 48 || fd >= 64) && fstat(fd, &status) == 0)
      out.insert(std::to_string(fd) + ":" + std::to_string(status.st_mode & S_IFMT));
  }
  return out;
}

struct Descriptors : Hazard {
  // A test forks from where it connects, and sees the same from then on. Who compares is the one who runs it.
  std::string find() override {
    std::string text;
    for (const std::string& one : descriptors()) text += one + " ";
    add_line("descriptors", text);
    return leak_if(fcntl(1, F_GETFL) == -1 || fcntl(0, F_GETFL) == -1, "a closed descriptor");
  }
  void leave(int) override {
    int ends[2];
    check(pipe(ends) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0 &&
              open("/dev/null", O_RDONLY) >= 0,
          "descriptors");
    check(socket(AF_INET, SOCK_STREAM, 0) >= 0 && memfd_create("left", 0) >= 0 &&
              dup2(ends[0], 500) == 500,
          "descriptors");
    close(0);
    dup2(ends[1], 2);
  }
};
struct ClosedAll : Descriptors {
  void leave(int) override { close_range(3, ~0U, 0); }
};

struct Locks : Hazard {
  int at_go = -1;
  void prepare() override {
    close(open("locked", O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
    at_go = open("locked", O_RDONLY | O_CLOEXEC);
    check(at_go >= 0, "a file");
  }
  std::string find() override {
    const int fd = open("locked", O_RDWR | O_CLOEXEC);
    struct flock other {};
    other.l_type = F_WRLCK;
    fcntl(fd, F_GETLK, &other);
    const bool leaked = flock(fd, LOCK_EX | LOCK_NB) != 0;
    close(fd);
    return leak_if(leaked, "flock(2)") + leak_if(other.l_type != F_UNLCK, "a lock of fcntl(2)");
  }
  void leave(int status) override {
    const int fd = open("locked", O_RDWR);
    struct flock whole {};
    whole.l_type = F_WRLCK;
    // One of them over the descriptor of before 'go', which each execution has for itself.
    check(fcntl(fd, F_SETLK, &whole) == 0 &&
              flock(status == 200 ? at_go : fd, LOCK_EX | LOCK_NB) == 0,
          "a lock");
  }
};

}  // namespace

std::vector<Entry> descriptor_hazards() {
  return {
      {"descriptors", make<Descriptors>},
      {"closed-all", make<ClosedAll>},
      {"locks", make<Locks>},
  };
}
