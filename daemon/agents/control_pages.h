// The control pages on which a hub announces its session (core/protocol/control_page.h):
// DIR/control, which is this hub's alone, and those of its user, which it shares with other
// sessions.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "core/protocol/control_page.h"
#include "core/result.h"
#include "daemon/agents/door.h"
#include "daemon/base/descriptors.h"

namespace filibuster {

// Another session that the same processes could follow.
struct OtherSession {
  uint32_t daemon_pid = 0;
  std::string application;
  bool operator==(const OtherSession&) const = default;
};
// "pid 7, application /home/me/shop"; several with "; " between.
std::string to_text(const std::vector<OtherSession>& others);

// A control page that this process has attached; detached at destruction.
class AttachedPage {
 public:
  AttachedPage() = default;
  ~AttachedPage() { reset(nullptr); }
  AttachedPage(const AttachedPage&) = delete;
  AttachedPage& operator=(const AttachedPage&) = delete;
  void reset(ControlPage* page);
  ControlPage* get() const { return page_; }

 private:
  ControlPage* page_ = nullptr;
};

class ControlPages {
 public:
  struct Place {
    std::string directory;       // of this hub alone
    std::string user_directory;  // of the pages that the user's sessions share
    std::string application;     // empty: none, so nobody follows the session by it
  };

  ControlPages() = default;
  ~ControlPages() { retract(); }
  ControlPages(const ControlPages&) = delete;

  // Makes `directory` (0700) and attaches the pages. Error: the directory is not ours, or another
  // hub uses it. A page of the user that cannot be used is not an error: `*note` says why.
  Result<void> open(const Place& place, std::string* note);
  // Announces `socket_path` and `door` under a new generation, which it returns. `*note` says so where a
  // page has no free slot.
  uint64_t publish(const std::string& socket_path, const Door& door, std::string* note);
  void retract();

  // The time of day that processes of a replay are shown from now on: microseconds since 1970, and it goes on from there.
  void show_time(int64_t now_us);

  // Sessions of the same application that are announced beside this one now.
  std::vector<OtherSession> others() const;
  uint64_t generation() const { return generation_; }

 private:
  struct Page {
    AttachedPage memory;
    UniqueFd locks;  // invalid: the page is ours alone
    int slot = -1;   // ours; -1: not announced
  };
  static Result<void> open_shared(const std::string& directory, ControlPageName name, Page* page);
  bool announce(Page* page, const std::string& socket_path, const Door& door);
  void withdraw(Page* page);

  std::string application_;
  UniqueFd lock_;  // locked (flock) for the life of the hub: two hubs never share a directory
  std::deque<Page> pages_;
  uint64_t generation_ = 0;
};

}  // namespace filibuster
