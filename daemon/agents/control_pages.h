// The two control pages of a hub (core/protocol/control_page.h): DIR/control, which is this hub's
// alone, and the per-user page, which belongs to the daemon that wrote it last.
#pragma once

#include <string>

#include "core/protocol/control_page.h"
#include "core/result.h"
#include "daemon/agents/descriptors.h"

namespace filibuster {

class ControlPages {
 public:
  ControlPages() = default;
  ~ControlPages() { retract(); }
  ControlPages(const ControlPages&) = delete;

  // Creates `directory` (0700) and maps both pages. Error: the directory is not ours, or another
  // hub uses it. A per-user page that cannot be used is not an error: `*note` says why.
  Result<void> open(const std::string& directory, const std::string& user_directory,
                    std::string* note);
  // Announces `socket_path` under a new generation, which it returns.
  uint64_t publish(const std::string& socket_path);
  // Generation 0 on every page that still names us.
  void retract();

  uint64_t generation() const { return generation_; }

 private:
  // Locked (flock) for the life of the hub: two hubs never share a directory.
  UniqueFd own_file_;
  SharedMapping<ControlPage> own_;
  SharedMapping<ControlPage> user_;
  uint64_t generation_ = 0;
};

}  // namespace filibuster
