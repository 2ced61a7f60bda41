// Which commands are calls, when these are formed, and how replies end them.
#include <algorithm>
#include <cstring>

#include "core/fault/fault.h"
#include "core/resp/arguments.h"
#include "core/resp/key_pattern.h"
#include "preload/protocols/redis/redis.h"
#include "preload/rpc/fields.h"
#include "preload/stream/kept.h"
#include "preload/stream/tape.h"

namespace filibuster::preload {
namespace {

constexpr size_t kResource = 192;  // bytes of a key's pattern, or of a transaction's commands
constexpr size_t kSample = 512;    // bytes of the arguments that travel in events

// The arguments as text: their first bytes for events, and all of them for the fields of the call.
class Arguments final : public resp::TextSink {
 public:
  void text(const char* data, size_t size) override {
    if (fields != nullptr) request_piece(fields, data, size);
    const size_t take = std::min(size, kSample - size_);
    std::memcpy(sample_ + size_, data, take);
    size_ += take;
    whole_ = whole_ && take == size;
  }
  std::string_view sample() const { return {sample_, size_}; }
  bool whole() const { return whole_; }

  RequestFields* fields = nullptr;

 private:
  size_t size_ = 0;
  bool whole_ = true;
  char sample_[kSample];
};

// Calls use(data, size) for the bytes [start, end) of the application's stream: those that are held, then
// those that are being offered. False: they are not all at hand any more.
template <typename Use>
bool each_piece(const Connection& c, const Offer& offer, uint64_t start, uint64_t end,
                const Use& use) {
  const auto give = [&](const char* data, uint64_t base, size_t size) {
    if (start >= end || start < base || start >= base + size) return;
    const size_t skip = static_cast<size_t>(start - base);
    const size_t count = static_cast<size_t>(std::min<uint64_t>(size - skip, end - start));
    use(data + skip, count);
    start += count;
  };
  const Wire& w = c.wire;
  if (w.held != nullptr) give(w.held->bytes, w.held_base, w.held_size);
  uint64_t base = offer.base;
  offer.pieces.each(0, SIZE_MAX, [&](const char* part, size_t size) {
    give(part, base, size);
    base += size;
    return true;
  });
  return start == end;
}

// A command, or a transaction, as a call.
struct Made {
  Command* first = nullptr;
  Command* last = nullptr;
  std::string_view method, resource;
  Hash128 digest;
  uint64_t start = 0, end = 0;
  uint32_t members = 0;  // of a transaction
  bool begun = false;    // a part of it may have been sent
  // Its arguments may be shown: they are no secrets, and it is no inline command.
  bool has_text = true;
};

void plan_fault(Connection& c, const Made& made, const OutgoingCall& call, bool begun) {
  Redis& r = redis_of(c);
  if (begun) {
    report_fault(call, FaultHow::kNotInjected, kPartWasSent);
    return;
  }
  PlannedFault* fault = make_planned_fault();
  if (fault == nullptr) {
    report_fault(call, FaultHow::kNotInjected,
                 "too many faults wait on connections of this process");
    return;
  }
  fault->call = call;
  fault->first = made.first->number;
  fault->last = made.last;
  fault->start = made.start;
  fault->end = made.end;
  fault->members = made.members;
  fault->call.replies = made.first == made.last ? 1 : made.members + 2;
  if (r.fault == nullptr) {
    r.fault = fault;
    r.awaited.store(fault->first);
  } else {
    r.last_fault->next = fault;
  }
  r.last_fault = fault;
  const auto kind = static_cast<FaultKind>(call.plan.kind);
  r.is_ending = r.is_ending || (kind != FaultKind::kRedis && kind != FaultKind::kLatency);
}

void form_call(Connection& c, const Made& made) {
  Redis& r = redis_of(c);
  if (r.is_ending) return;
  find_target_of(c);
  RequestHead head;
  head.method = made.method;
  head.target = made.resource;
  head.protocol = Protocol::kRedis;
  if (r.said != nullptr) head.filibuster = r.said->at(made.start);
  const bool at_hand = !made.begun && made.start >= c.wire.edits.position();
  Arguments arguments;
  OutgoingInfo info;
  info.head = &head;
  info.target = c.target;
  info.peer = c.peer_name();
  info.body_complete = true;
  info.body = made.digest;
  arguments.fields =
      begin_fields(own_service(), target_service(c.target, head, c.peer_name()), head);
  if (made.has_text) {
    const bool transaction = made.first != made.last;
    resp::ArgumentText text =
        transaction ? resp::ArgumentText(&arguments, made.members) : resp::ArgumentText(&arguments);
    const bool whole = each_piece(c, *r.offer, made.start, made.end,
                                  [&](const char* data, size_t size) { text.feed(data, size); });
    text.finish();
    if (!whole && arguments.fields != nullptr) request_unseen(arguments.fields);
    head.body_size = arguments.sample().size() + (whole && arguments.whole() ? 0 : 1);
    info.body_sample = arguments.sample();
  }
  if (arguments.fields != nullptr) {
    info.fields = arguments.fields;
    info.body = request_whole(arguments.fields, made.digest, made.end - made.start);
  }
  info.opens_connection = c.is_opened_now();
  if (info.opens_connection) info.connect = c.connect.name;
  info.encrypted = c.transport.load() != nullptr;
  if (head.filibuster.empty()) {
    // One call of the application makes all of these. Its stack is read for the second, and kept for the
    // others.
    if (r.formed++ == 1) note_origin(info, &r.origin);
    info.origin = r.origin;
    info.sent_together = true;
  }
  OutgoingCall call;
  outgoing_begin(info, &call);
  if (taping() != 0) place_rpc(c, call, made.first->number);
  ++c.requests;
  if (c.ended_for.load(std::memory_order_relaxed) != 0) note_request_on_ended(c, call);
  if (call.active && arguments.fields != nullptr)
    report_request_fields(call.rpc, call.generation, call.execution, *arguments.fields);
  end_fields(arguments.fields);
  made.last->call = call;
  made.last->parent_path = call.active ? call.parent_path : Hash128{};
  if (call.active && call.faulted) plan_fault(c, made, call, !at_hand);
}

// Writes the pattern of a key as a path. '?' ends the path of a target, so it is replaced.
size_t resource_of(const resp::Argument& key, char* out, size_t size) {
  const size_t used = resp::key_pattern(key.bytes, out, size, key.truncated);
  std::replace(out, out + used, '?', '*');
  return used;
}

// The resource of a command: the pattern of its key, else its channel, else its subcommand.
std::string_view describe(const resp::Command& command, char (&out)[kResource]) {
  if (command.key_argument != 0) return {out, resource_of(command.key, out, sizeof out)};
  if (command.name == "PUBLISH" || command.name == "SPUBLISH")
    return {out, resource_of(command.first_argument, out, sizeof out)};
  char word[resp::kMaxName];
  const std::string_view sub = resp::subcommand(command, word);
  std::memcpy(out, sub.data(), sub.size());
  return {out, sub.size()};
}

// --- transactions --------------------------------------------------------------------------------

void append(Transaction& t, std::string_view text) {
  const size_t take = std::min(text.size(), sizeof t.text - t.text_size);
  std::memcpy(t.text + t.text_size, text.data(), take);
  t.text_size = static_cast<uint8_t>(t.text_size + take);
}

void begin_transaction(Redis& r, Command* first, uint64_t start) {
  Transaction& t = r.transaction;
  t.open = true;
  t.begun = false;
  t.first = first;
  t.start = start;
  t.members = t.text_size = 0;
  t.digest.reset();
}

void add_member(Transaction& t, const resp::Command& command) {
  ++t.members;
  t.digest.update(command.name.data(), command.name.size());
  t.digest.update(&command.digest, sizeof command.digest);
  char out[kResource];
  const std::string_view resource = describe(command, out);
  if (t.members != 1) append(t, ", ");
  append(t, command.name);
  if (!resource.empty()) append(t, " ");
  append(t, resource);
}

void end_transaction(Connection& c, const resp::Command& command, Command* last, uint64_t end) {
  Redis& r = redis_of(c);
  Transaction& t = r.transaction;
  t.open = false;
  r.watching = false;
  if (command.name != "EXEC") return;
  Made made;
  made.first = t.begun ? last : t.first;
  made.last = last;
  made.method = "MULTI";
  made.resource = {t.text, t.text_size};
  made.digest = t.digest.digest();
  made.start = t.start;
  made.end = end;
  made.members = t.members;
  made.begun = t.begun;
  form_call(c, made);
}

// --- which of them are calls ---------------------------------------------------------------------

// True for a command after which nothing tells which reply answers which command.
bool ends_following(Connection& c, const resp::Command& command,
                    const resp::CommandProperties* known) {
  if (known == nullptr) return false;
  if (known->has(resp::kSubscription)) {
    give_up(c, NotInterposedReason::kRedisSubscription);
    return true;
  }
  char word[resp::kMaxName];
  if (!known->has(resp::kReplication) &&
      !(command.name == "CLIENT" && resp::subcommand(command, word) == "REPLY"))
    return false;
  give_up(c, NotInterposedReason::kRedisUnfollowed);
  return true;
}

uint8_t protocol_set_by(const resp::Command& command) {
  if (command.name == "RESET") return 2;
  if (command.name != "HELLO" || command.arguments == 0) return 0;
  return command.first_argument.bytes == "3" ? 3 : 2;
}

bool may_block(const resp::CommandProperties* known) {
  return known != nullptr && (known->has(resp::kBlocks) || known->has(resp::kBlocksByOption));
}

}  // namespace

void take_command(Connection& c, const resp::Command& command, size_t end) {
  Redis& r = redis_of(c);
  const uint64_t stop = r.feed_base + end;
  const resp::CommandProperties* known = resp::find_command(command.name);
  if (ends_following(c, command, known)) return;
  Command* queued = r.commands.push();
  if (queued == nullptr) return give_up(c, NotInterposedReason::kTableFull);
  r.whole_end = stop;
  if (known != nullptr && known->has(resp::kSetsProtocol))
    queued->sets_protocol = protocol_set_by(command);
  if (r.transaction.open) {
    if (command.name == "EXEC" || command.name == "DISCARD" || command.name == "RESET")
      return end_transaction(c, command, queued, stop);
    return add_member(r.transaction, command);
  }
  const uint64_t start = stop - command.size;
  if (command.name == "MULTI") return begin_transaction(r, queued, start);
  if (command.name == "WATCH" || command.name == "UNWATCH") r.watching = command.name == "WATCH";
  if (may_block(known)) {
    report_not_interposed(NotInterposedReason::kRedisBlocking, true, c.peer_name(),
                          c.target.name());
    return;
  }
  const bool by_library = known != nullptr && known->has(resp::kByLibrary);
  if (by_library && (lane_options() & kOptionLibraryCommands) == 0) return;
  char resource[kResource];
  Made made;
  made.first = made.last = queued;
  made.method = command.name;
  made.resource = describe(command, resource);
  made.digest = command.digest;
  made.start = start;
  made.end = stop;
  made.has_text = !by_library && !command.inline_command;
  form_call(c, made);
}

void take_reply(Connection& c, const resp::Reply& reply) {
  Redis& r = redis_of(c);
  if (reply.is_push) return;
  Command* command = r.commands.front();
  if (command == nullptr) {
    r.unasked = true;
    return;
  }
  if (command->sets_protocol != 0 && !reply.is_error) r.version.store(command->sets_protocol);
  if (command->call.active) {
    c.answered_path = command->parent_path;
    c.answered_in = command->call.execution;
    RpcFinished finished;
    finished.injected = command->injected || command->delayed ? 1 : 0;
    finished.body = reply.digest;
    finished.body_size = reply.size;
    finished.body_sample = reply.is_null ? "nil" : reply.simple;
    if (reply.is_error) {
      finished.code_space = CodeSpace::kRedis;
      finished.code = reply.error_code;
      finished.body_sample = reply.error_line;
    }
    outgoing_end(&command->call, finished);
  }
  r.commands.pop();
}

void end_open_calls(Connection& c, const RpcFinished& how) {
  Redis& r = redis_of(c);
  for (Command* open = r.commands.front(); open != nullptr; open = r.commands.front()) {
    RpcFinished finished = how;
    if (open->injected) {  // its reply was injected, but nobody has read it
      finished = {};
      finished.injected = 1;
    }
    if (open->delayed) finished.injected = 1;
    outgoing_end(&open->call, finished);
    r.commands.pop();
  }
}

}  // namespace filibuster::preload
