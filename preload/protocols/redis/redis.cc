#include "preload/protocols/redis/redis.h"

#include <algorithm>
#include <new>
#include <utility>

#include "preload/os/bounded_wait.h"

namespace filibuster::preload {

namespace {
constexpr uint64_t kFiringWithinNs = 100'000'000;  // to inject takes a tenth of a millisecond
}  // namespace

Recognised is_redis_of_client(std::string_view first) {
  switch (resp::sniff(first.data(), first.size())) {
    case resp::Sniff::kCommand:
      return Recognised::kYes;
    case resp::Sniff::kNeedMore:
      return first.size() < resp::kMaxSniff ? Recognised::kNeedMore : Recognised::kNo;
    case resp::Sniff::kOther:
      break;
  }
  return Recognised::kNo;
}

void begin_redis(Connection& c, Pieces, size_t) {
  void* room = take_room(c);
  if (room == nullptr) return;
  auto* redis = new (room) Redis(&c);
  find_target_of(c);
  if (c.role == Role::kServer || (c.target.flags & (kTargetNever | kTargetIgnored)) != 0) {
    give_up_silently(c);
  } else if ((c.target.flags & kTargetRedis) == 0) {
    give_up(c, NotInterposedReason::kRedis);
  }
  publish(c, redis);
}

Joined joins_redis(std::string_view first, NotInterposedReason*) {
  return resp::sniff(first.data(), first.size()) == resp::Sniff::kCommand ? Joined::kRequests
                                                                          : Joined::kNo;
}

// --- a client's commands -------------------------------------------------------------------------

void Redis::offered(Connection& c, const Offer& bytes, uint64_t from) {
  offer = &bytes;
  formed = 0;
  bytes.pieces.each(static_cast<size_t>(from - bytes.base), SIZE_MAX,
                    [&](const char* part, size_t size) {
                      feed_base = from;
                      from += size;
                      if (requests.feed(part, size) == resp::CommandState::kInvalid)
                        give_up(c, NotInterposedReason::kUnknownProtocol);
                      return c.state.is_followed();
                    });
  offer = nullptr;
  drop_origin(std::exchange(origin, nullptr));
}

Released Redis::release(Connection& c, int fd, const Offer& bytes, Sending sending) {
  if (!c.state.is_followed()) return {bytes.end, {}};
  const FaultTurn turn = take_fault_turn(c, fd, sending);
  if (turn.swallows) return {c.wire.accepted, Released::Then::kSwallow};
  uint64_t limit = bytes.end;
  // The server could do nothing with an incomplete command, so it is held.
  if (requests.state() == resp::CommandState::kCommand && passed_to <= whole_end)
    limit = std::min(limit, whole_end);
  if (transaction.open && !transaction.begun) limit = std::min(limit, transaction.start);
  if (turn.limit >= limit) return {limit, {}};
  const bool more = c.wire.edits.position() < turn.limit;
  return {turn.limit, more ? Released::Then::kMore : Released::Then::kHold};
}

bool Redis::press(Connection& c, int) {
  if (fault != nullptr && fault->start <= c.wire.edits.position()) {
    drop_first_fault(c, "more is pipelined behind it than can be held");
  } else if (transaction.open && !transaction.begun) {
    transaction.begun = true;
  } else if (requests.state() == resp::CommandState::kCommand && passed_to <= whole_end) {
    passed_to = c.wire.fed;
  } else {
    return false;
  }
  return true;
}

uint64_t Redis::flush_limit(Connection& c, uint64_t released, bool closing) {
  if (fault != nullptr || !c.state.is_followed()) return released;
  if (closing) return c.wire.accepted;
  // The application may wait for the replies of what was sent so far.
  transaction.begun = transaction.begun || transaction.open;
  return std::max(released, std::min(whole_end, c.wire.accepted));
}

void Redis::sent(Connection& c, int fd) {
  // All bytes of a call that is faulted after its effect were sent.
  if (fault != nullptr && c.wire.edits.position() >= fault->end)
    take_fault_turn(c, fd, Sending::kOffered);
}

WriteOrigins* Redis::write_origins(Connection& c) {
  // Origins are given by positions since the application's first byte, which must have been seen.
  if (!c.seen_from_start || !c.state.is_followed()) return nullptr;
  if (said == nullptr) said = make_write_origins();
  return said;
}

bool Redis::skipped(Connection&, uint64_t size) {
  return size <= requests.bulk_left() && requests.skip(size) != resp::CommandState::kInvalid;
}

bool Redis::may_go_on(const Connection&) const {
  const uint64_t first = awaited.load();
  return first != 0 && commands.is_next(first);
}

// --- replies -------------------------------------------------------------------------------------

void Redis::observed(Connection& c, int fd, Traffic traffic, Pieces pieces, size_t size) {
  if (traffic == Traffic::kRequests) return;
  pieces.each(0, size, [&](const char* part, size_t bytes) {
    unasked = false;
    const resp::ReplyState state = replies.feed(part, bytes);
    if (unasked || state == resp::ReplyState::kInvalid) {
      give_up_unless_stale(
          c, fd, unasked ? NotInterposedReason::kMidStream : NotInterposedReason::kUnknownProtocol);
      return false;
    }
    in_reply.store(state != resp::ReplyState::kStart);
    return c.state.is_followed();
  });
}

bool Redis::unseen(Connection&, Traffic traffic, size_t size) {
  return traffic == Traffic::kResponses && size <= replies.bulk_left() &&
         replies.skip(size) != resp::ReplyState::kInvalid;
}

Followed::Receive Redis::begin_receive(Connection&) {
  readers.fetch_add(1);
  if (!firing.load()) return Receive::kKeptOut;
  readers.fetch_sub(1);
  wait_until([&] { return !firing.load(); }, kFiringWithinNs);
  readers.fetch_add(1);
  return Receive::kKeptOut;
}

bool Redis::is_idle(const Connection& c) const {
  return c.requests != 0 && commands.empty() && !transaction.open && !watching &&
         c.aside.load() < 0 && requests.state() == resp::CommandState::kStart &&
         replies.state() == resp::ReplyState::kStart;
}

// --- ends ----------------------------------------------------------------------------------------

void Redis::end_unanswered(Connection& c) {
  end_open_calls(c, unanswered(c));
}

void Redis::settle(Connection& c) {
  while (fault != nullptr) drop_first_fault(c, kConnectionEndedFirst);
  end_unanswered(c);
}

void Redis::end_silence(Connection& c) {
  RpcFinished finished;
  finished.outcome = RpcOutcome::kTimedOut;
  finished.injected = c.elapsed.load(std::memory_order_relaxed) ? 2 : 1;
  outgoing_end(&silenced, finished);
}

void Redis::adopt_in_child(Connection&) {
  // The calls are the parent's to report, so the child's copies end without an event.
  silenced.active = false;
  readers.store(0);  // the threads that read exist in the parent only
  for (Command* open = commands.front(); open != nullptr; open = commands.front()) {
    open->call.active = false;
    commands.pop();
  }
  while (fault != nullptr) free_planned_fault(std::exchange(fault, fault->next));
  last_fault = nullptr;
  awaited.store(0);
}

void Redis::free(Connection&) {
  commands.clear();
  if (said != nullptr) free_write_origins(std::exchange(said, nullptr));
}

// --- parser events -------------------------------------------------------------------------------

void CommandEvents::on_command(const resp::Command& command, size_t end) {
  Connection& c = *owner_->connection;
  if (c.state.is_followed()) take_command(c, command, end);
}

void ReplyEvents::on_reply(const resp::Reply& reply, size_t) {
  Connection& c = *owner_->connection;
  if (c.state.is_followed()) take_reply(c, reply);
}

}  // namespace filibuster::preload
