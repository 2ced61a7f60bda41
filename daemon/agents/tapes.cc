#include "daemon/agents/tapes.h"

#include <pthread.h>
#include <signal.h>

#include <chrono>
#include <utility>

namespace filibuster {
namespace {

constexpr auto kTurn = std::chrono::milliseconds(2);
// Of a record that a thread is writing as the recording ends: how many turns it is waited for.
constexpr int kLastTurns = 25;
// Events that wait for the sink.
constexpr size_t kMaxQueued = 64u << 20;

// Gives the sink a record that is one of this recording. False: it is no record.
template <typename Record>
bool give(std::span<const uint8_t> payload, uint32_t recording, const auto& use) {
  Record record;
  if (!decode(payload, &record)) return false;
  // What an agent wrote as an earlier recording ended is nobody's.
  if (record.recording == recording) use(record);
  return true;
}

}  // namespace

Result<void> Tapes::joined(const EventSource& source, std::shared_ptr<TapeReader> tape) {
  if (running()) {
    if (auto there = tape->reserve(); !there) return there;
  }
  const std::lock_guard lock(mutex_);
  agents_[source.agent] = {source, std::move(tape)};
  return {};
}

void Tapes::event(const EventSource& source, const EventHead& head,
                  std::span<const uint8_t> payload) {
  if (!running()) return;
  const std::lock_guard lock(mutex_);
  const auto place = agents_.find(source.agent);
  if (place == agents_.end()) return;
  const size_t queued = queue_.payloads.size() + queue_.events.size() * sizeof(Event);
  if (queued + payload.size() > kMaxQueued) {
    ++place->second.lost;
    return;
  }
  queue_.events.push_back({source.agent, head, payload.size()});
  queue_.payloads.insert(queue_.payloads.end(), payload.begin(), payload.end());
}

void Tapes::lost(uint32_t agent, uint64_t events) {
  if (!running()) return;
  const std::lock_guard lock(mutex_);
  if (const auto place = agents_.find(agent); place != agents_.end()) place->second.lost += events;
}

void Tapes::ended(uint32_t agent) {
  const std::lock_guard lock(mutex_);
  const auto place = agents_.find(agent);
  if (place == agents_.end()) return;
  if (running()) {
    place->second.ended = true;
  } else {
    agents_.erase(place);
  }
}

Result<void> Tapes::begin(std::shared_ptr<RecordingSink> sink, uint32_t number) {
  const std::lock_guard delivery(delivery_);
  {
    const std::lock_guard lock(mutex_);
    for (auto& [id, agent] : agents_) {
      if (auto there = agent.tape->reserve(); !there) return there;
      agent.tape->take_dropped();
      agent.lost = 0;
    }
    queue_ = {};
    ending_ = false;
  }
  sink_ = std::move(sink);
  number_ = number;
  running_.store(true, std::memory_order_relaxed);
  // The main thread handles the daemon's signals.
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { run(); });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ::pthread_setname_np(thread_.native_handle(), "recording");
  return {};
}

void Tapes::end() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  ending_changed_.notify_all();
  thread_.join();
  const std::lock_guard delivery(delivery_);
  sink_.reset();
  running_.store(false, std::memory_order_relaxed);
  const std::lock_guard lock(mutex_);
  std::erase_if(agents_, [](const auto& row) { return row.second.ended; });
  queue_ = {};
}

void Tapes::run() {
  int last_turns = 0;
  for (;;) {
    bool ending = false;
    {
      std::unique_lock lock(mutex_);
      ending = ending_changed_.wait_for(lock, kTurn, [&] { return ending_ && last_turns == 0; }) ||
               ending_;
    }
    bool whole = true;
    {
      const std::lock_guard delivery(delivery_);
      Batch batch = take();
      whole = deliver(&batch);
    }
    if (ending && (whole || ++last_turns == kLastTurns)) return;
  }
}

void Tapes::turn() {
  const std::lock_guard delivery(delivery_);
  if (sink_ == nullptr) return;
  Batch batch = take();
  deliver(&batch);
}

Tapes::Batch Tapes::take() {
  const std::lock_guard lock(mutex_);
  Batch batch{std::exchange(queue_, {}), agents_};
  for (auto& [id, agent] : agents_) agent.lost = 0;
  return batch;
}

bool Tapes::deliver(Batch* batch) {
  const uint8_t* at = batch->queue.payloads.data();
  for (const Event& event : batch->queue.events) {
    const auto place = batch->agents.find(event.agent);
    if (place != batch->agents.end())
      sink_->event(place->second.source, event.head, {at, event.size});
    at += event.size;
  }
  bool whole = true;
  for (auto& [id, agent] : batch->agents) {
    const bool read = agent.corrupt || deliver_tape(&agent);
    // Whoever ended in the middle of a record never completes it.
    if (!read && agent.ended) ++agent.lost;
    whole = whole && (read || agent.ended);
    if (agent.lost != 0) sink_->lost(agent.source, agent.lost);
    if (agent.ended) sink_->ended(agent.source);
    const std::lock_guard lock(mutex_);
    const auto place = agents_.find(id);
    if (agent.ended) {
      agents_.erase(place);
    } else {
      place->second.corrupt = agent.corrupt;
    }
  }
  return whole;
}

bool Tapes::deliver_tape(Agent* agent) {
  bool sound = true;
  uint64_t records = 0;
  const auto read = [&](const EventHead& head, std::span<const uint8_t> payload) {
    const EventSource& source = agent->source;
    bool is_record = true;
    switch (static_cast<TapeType>(head.type)) {
      case TapeType::kBytes:
        is_record = give<TapeBytes>(payload, number_,
                                    [&](const TapeBytes& r) { sink_->bytes(source, head, r); });
        break;
      case TapeType::kGap:
        is_record =
            give<TapeGap>(payload, number_, [&](const TapeGap& r) { sink_->gap(source, head, r); });
        break;
      case TapeType::kClosed:
        is_record = give<TapeClosed>(payload, number_,
                                     [&](const TapeClosed& r) { sink_->closed(source, head, r); });
        break;
      case TapeType::kDraw:
        is_record = give<TapeDraw>(payload, number_,
                                   [&](const TapeDraw& r) { sink_->draw(source, head, r); });
        break;
      case TapeType::kFiller:
        break;  // and what a later minor version adds
    }
    sound = sound && is_record;
    return is_record;
  };
  const auto state = agent->tape->drain(read, &records);
  agent->lost += agent->tape->take_dropped();
  if (state == RingState::kCorrupt || !sound) {
    agent->corrupt = true;
    ++agent->lost;
    return true;
  }
  return state == RingState::kEmpty;
}

}  // namespace filibuster
