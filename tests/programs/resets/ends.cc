// Hazards of ends: how a test ends, and what is done then.
#include <csignal>

#include "tests/programs/resets/hazard.h"

namespace {

struct UnderscoreExit : Hazard {
  void leave(int status) override { _exit(status == 200 || status == 503 ? 0 : 3); }
};
struct Exec : Hazard {
  void leave(int status) override {
    execl("/bin/sh", "sh", "-c", status == 200 || status == 503 ? "exit 0" : "exit 3", nullptr);
  }
};
struct Aborts : Hazard {
  void leave(int status) override {
    if (status != 200) abort();
  }
};
struct Killed : Hazard {
  void leave(int status) override {
    if (status != 200) kill(getpid(), SIGKILL);
  }
};

struct Ends : Hazard {
  void prepare() override {
    atexit([] { add_line("ends", "registered before"); });
    on_exit(
        [](int status, void*) {
          add_line("ends", status == 0 || status == 3 ? "with the status" : "with another one");
        },
        nullptr);
    printf("of before, ");
  }
  void leave(int) override {
    atexit([] { add_line("ends", "registered after"); });
    FILE* file = fopen("buffered", "ae");
    fputs("buffered\n", file);  // and not closed
    printf("without an end");
  }
};
struct ExitAgain : Hazard {
  static inline int status = 0;
  void prepare() override {
    atexit([] {
      if (status != 200) exit(5);
    });
  }
  void leave(int now) override { status = now; }
};

struct Static {
  ~Static() {
    if (leaks_has_ends) add_line("ends", "static data");
  }
} g_object;

}  // namespace

std::vector<Entry> end_hazards() {
  return {
      {"_exit", make<UnderscoreExit>}, {"exec", make<Exec>}, {"abort", make<Aborts>},
      {"killed", make<Killed>},        {"ends", make<Ends>}, {"exit-again", make<ExitAgain>},
  };
}
