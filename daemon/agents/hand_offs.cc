#include "daemon/agents/hand_offs.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "daemon/base/fail_point.h"

namespace filibuster {

HandOffs::HandOffs(int epoll_fd, uint64_t finisher_tag, uint64_t relay_tag, Recorder* recorder,
                   std::chrono::milliseconds hang_limit, std::function<double()> slowdown)
    : recorder_(recorder),
      hang_limit_(hang_limit),
      slowdown_(std::move(slowdown)),
      finisher_(
          epoll_fd, finisher_tag,
          [this](uint32_t execution, uint64_t rpc, const HangLimit& limit) {
            report(execution, rpc, limit);
          },
          [this](const HandOff& hand_off, const std::string& why) {
            recorder_->unmet(hand_off.execution, hand_off.rpc, hand_off.plan_entry, why);
          },
          [this](const HandOff& hand_off, const PassedAnswer& answer) {
            recorder_->passed(hand_off.execution, hand_off.rpc, answer, clock_ns());
          }),
      late_(epoll_fd, finisher_tag | kLate,
            [this](uint32_t execution, uint64_t rpc) {
              report(execution, rpc, {HangLimit::Reached::kByAnswer, hang_limit_ns()});
            }),
      relays_(epoll_fd, relay_tag, this) {}

bool HandOffs::take(const EventSource& agent, Message* message, uint64_t now_ns) {
  HandOff hand_off;
  if (!read_hand_off(*message, &hand_off)) return false;
  UniqueFd held = std::move(message->descriptors[0]);
  UniqueFd real;
  if (message->descriptors.size() > 1) real = std::move(message->descriptors[1]);
  if (hand_off.kind == HandOffKind::kRelay) {
    RelayState state;
    std::string_view table, half_read;
    if (!read_relay_state(*message, &state, &table, &half_read)) {
      close_with_reset(std::move(held));
      return false;
    }
    relays_.take(state, table, half_read, std::move(held), std::move(real));
    fail_point("relayed");
    return true;
  }
  if (hand_off.execution != recorder_->execution()) {
    close_with_reset(std::move(held));  // of an execution that is over
    return true;
  }
  Finisher::Order order;
  order.spares_errors = hand_off.protocol != static_cast<uint8_t>(Protocol::kRedis) &&
                        hand_off.kind != HandOffKind::kSilence &&
                        hand_off.kind != HandOffKind::kChange &&
                        recorder_->spares_errors(hand_off.plan_entry);
  if (hand_off.kind == HandOffKind::kDrainThenAnswer || hand_off.kind == HandOffKind::kChange) {
    const FaultSpec* fault = recorder_->planned_fault(hand_off.plan_entry);
    const bool changes = hand_off.kind == HandOffKind::kChange;
    const bool fits = fault != nullptr &&
                      (changes ? changes_answer(fault->kind) : fault->kind == FaultKind::kStatus);
    if (!fits) {
      close_with_reset(std::move(held));
      recorder_->lost(agent.name() + ": asked for the answer of a fault that has none in the plan");
      return true;
    }
    const bool holds =
        recorder_->holds(hand_off.plan_entry) && !released_.contains(hand_off.plan_entry);
    // What comes on these connections behind the answer is carried, too.
    if (changes && (hand_off.protocol == static_cast<uint8_t>(Protocol::kSealed) ||
                    hand_off.protocol == static_cast<uint8_t>(Protocol::kRedis))) {
      constexpr uint64_t kNsPerMs = 1'000'000;
      const uint64_t latency_ns = fault->latency_ms * kNsPerMs;
      if (!late_.take(hand_off, std::move(held), std::move(real), latency_ns,
                      now_ns + hang_limit_ns() + patience_ns(), holds))
        recorder_->lost(agent.name() + ": an answer could not be passed on late");
      return true;
    }
    if (changes) {
      order.change = *fault;
      order.holds = holds;
    } else {
      order.answer = render_http_response(*fault, hand_off.head_request != 0);
    }
  }
  if (!finisher_.take(hand_off, std::move(held), std::move(real), std::move(order), hang_limit_ns(),
                      now_ns + patience_ns())) {
    recorder_->lost(agent.name() + ": handed off the connection of a fault that is not a socket");
  }
  fail_point("handed-off");
  return true;
}

void HandOffs::release(uint32_t plan_entry, uint64_t now_ns) {
  released_.insert(plan_entry);
  finisher_.release(plan_entry);
  late_.release(plan_entry, now_ns);
}

void HandOffs::expire(uint64_t now_ns) {
  finisher_.expire(now_ns);
  late_.expire(now_ns);
  relays_.expire(now_ns);
}

uint64_t HandOffs::next_deadline_ns() const {
  uint64_t next = 0;
  for (const uint64_t one :
       {finisher_.next_deadline_ns(), late_.next_deadline_ns(), relays_.next_deadline_ns()}) {
    if (one != 0 && (next == 0 || one < next)) next = one;
  }
  return next;
}

void HandOffs::end_execution(uint32_t execution) {
  released_.clear();
  finisher_.reset_all(execution);
  late_.end_execution(execution);
  relays_.end_execution(execution);
}

size_t HandOffs::retire(uint64_t now_ns) {
  relays_.retire(now_ns);
  return relays_.size();
}

const FaultSpec* HandOffs::fault_of(const StreamOrder& order) {
  if (order.execution != recorder_->execution()) return nullptr;  // of an execution that is over
  const FaultSpec* fault = recorder_->planned_fault(order.plan_entry);
  if (fault == nullptr) {
    note("a fault was ordered on an HTTP/2 stream that is not in the plan", true);
  }
  return fault;
}

uint64_t HandOffs::hang_limit_ns() const {
  return static_cast<uint64_t>(std::chrono::nanoseconds(hang_limit_).count());
}

// The time that a caller gets beyond the limit on a busy machine: its timer fires in time there, too,
// but what it does then takes longer.
uint64_t HandOffs::patience_ns() const {
  constexpr double kReactionNs = 1e9;
  return static_cast<uint64_t>((slowdown_() - 1) * kReactionNs);
}

void HandOffs::report(uint32_t execution, uint64_t rpc, const HangLimit& limit) {
  recorder_->hang_limit(execution, rpc, limit);
}

bool HandOffs::spares_errors(const StreamOrder& order) const {
  return order.execution == recorder_->execution() && recorder_->spares_errors(order.plan_entry);
}

void HandOffs::spared(const StreamOrder& order) {
  recorder_->spared(order.execution, order.rpc);
}

void HandOffs::unmet(const StreamOrder& order, const std::string& why) {
  recorder_->unmet(order.execution, order.rpc, order.plan_entry, why);
}

void HandOffs::note(const std::string& text, bool harmed) {
  harmed ? recorder_->lost(text) : recorder_->note(text);
}

}  // namespace filibuster
