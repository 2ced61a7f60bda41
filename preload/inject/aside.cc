#include "preload/inject/aside.h"

#include <sys/socket.h>

#include "preload/inject/raw.h"
#include "preload/inject/replaced.h"
#include "preload/inject/replacement.h"

namespace filibuster::preload {

namespace {

// So many bytes are in the reader's buffer as soon as they are written, on any system. (The pair must not be
// left before the whole answer has come.)
constexpr size_t kMostAside = 16 * 1024;

}  // namespace

const char* put_aside(int fd, Encryption* encryption, std::string_view answer, int* real) {
  Replacement plan;
  if (const char* why = prepare(fd, &plan)) return why;
  const char* why = nullptr;
  // (What is on its way belongs in front of what the real connection brings afterwards.)
  if (has_unread(plan, encryption) || (encryption != nullptr && encryption->has_under_way())) {
    why = "bytes of an earlier answer are unread";
  } else if (answer.size() > kMostAside || !write_on_held(plan.pair, answer)) {
    why = "the answer does not fit a socket buffer";
  }
  if (why != nullptr) {
    abandon(&plan);
    return why;
  }
  *real = plan.original;
  // The held end stays open, so that the application's end does not look closed.
  replace(&plan, encryption, 0, keep_held_end(plan.pair.held, false), 0);
  return nullptr;
}

bool put_back(int fd, int real) {
  RegistrationFreeze freeze;
  Registrations found;
  int family = 0;
  socklen_t size = sizeof family;
  const bool ready = freeze.begin() && find_registrations(fd, &found) == nullptr &&
                     raw::get_option(fd, SOL_SOCKET, SO_DOMAIN, &family, &size) == 0;
  if (ready) {
    copy_options(fd, real, family);
    exchange_back(real, found);
  } else {
    report_note("a connection could not take its place again after a fault: it was ended");
    raw::shutdown(fd, SHUT_RDWR);
  }
  freeze.end();
  release_descriptor(real);
  return ready;
}

}  // namespace filibuster::preload
