// What a relay knows of its streams: those with an order, those that are over for both ends, and
// how many are open.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <vector>

#include "core/fault/fault.h"
#include "core/protocol/relay.h"
#include "daemon/relay/changed_answer.h"

namespace filibuster {

struct FaultedStream {
  enum class Phase : uint8_t {
    kOrdered,  // its HEADERS have not come yet
    kWaiting,  // for what comes first: the server's answer, the rest of the client's request
    kDue,      // its outcome is to be placed as soon as a frame may
    kBody,     // its head is placed; the body follows as the client's windows allow
    kSilent,   // until the limit
    kPassing,  // the server's answer, changed on its way
  };
  StreamOrder order;
  FaultSpec fault;
  // Its outcome is an RST_STREAM, whatever was planned.
  bool cancelled = false;
  http2::ErrorCode cancel_code = http2::ErrorCode::kCancel;
  Phase phase = Phase::kOrdered;
  bool forwarded = false;      // the server sees the request: after effect, or its answer passes
  bool request_ended = false;  // END_STREAM of the client
  bool answer_ended = false;   // the server's own answer has ended, or the server gets no request
  bool server_reset = false;   // the server knows nothing of the stream any more
  int64_t credit = 0;          // the client's window increments less what was sent to the client
  size_t body_sent = 0;
  std::unique_ptr<ChangedAnswer> changed;  // of a fault that changes the answer, or spares errors
  bool spares_errors = false;  // the answer is kept until it is known whether it is an error
  bool holding = false;        // that is not known yet
  uint64_t data_received = 0;  // bytes of that answer, as windows count them
  uint64_t data_returned = 0;  // those given back to the server, as they are not passed on
  uint64_t limit_ns = 0;       // how long the fault may take
  uint64_t deadline_ns = 0;    // 0: none
  uint64_t alone_ns = 0;  // when it will have been alone long enough (kReset); 0: was not alone yet
  // Window increments for DATA that was taken away, not yet written.
  uint64_t owed_to_client = 0;
  uint64_t owed_to_server = 0;

  // When the next part of a changed answer may leave; 0: at once, or there is none.
  uint64_t part_due_ns() const {
    return phase != Phase::kPassing || changed->parts().empty() ? 0
                                                                : changed->parts().front().due_ns;
  }
  // True: no frame of the client on this stream means anything to the server.
  bool closed_at_server() const {
    return !forwarded || server_reset || (answer_ended && request_ended);
  }
};

// Streams of which nothing passes any more, in either direction. The oldest are forgotten when there are
// too many: nothing of them is still under way then.
class DeadStreams {
 public:
  void insert(uint32_t id) {
    ids_.insert(id);
    if (ids_.size() > kMost) ids_.erase(ids_.begin());
  }
  bool contains(uint32_t id) const { return ids_.contains(id); }

 private:
  static constexpr size_t kMost = 65536;
  std::set<uint32_t> ids_;
};

// Streams of the client that are open as far as the client can see: their answers have not ended.
class OpenStreams {
 public:
  // Streams up to `last` are older than the relay, which only knows how many of them are open.
  OpenStreams(uint32_t last, uint32_t count) : last_old_(last), old_(count) {}

  void open(uint32_t id) {
    if (ids_.size() < kMost) {
      ids_.insert(id);
    } else {
      uncounted_ = true;
    }
  }
  void close(uint32_t id) {
    if (id > last_old_) {
      ids_.erase(id);
    } else if (old_ > 0 && old_closed_.insert(id).second) {
      --old_;
    }
  }
  bool any() const { return more_than(0); }
  bool any_but(uint32_t id) const { return more_than(ids_.contains(id) ? 1 : 0); }
  bool more_than(size_t count) const { return uncounted_ || old_ + ids_.size() > count; }
  // The open streams from `first` on whose beginning the relay has seen, ascending.
  std::vector<uint32_t> from(uint32_t first) const { return {ids_.lower_bound(first), ids_.end()}; }

 private:
  static constexpr size_t kMost = 65536;
  const uint32_t last_old_;
  uint32_t old_;
  bool uncounted_ = false;  // there were too many: there may always be more
  std::set<uint32_t> ids_;
  std::set<uint32_t> old_closed_;
};

}  // namespace filibuster
