// The writer of one lane's shared memory (core/protocol/lane_memory.h). Not thread-safe but for
// renew_lease(), which the daemon's pulse calls.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "core/protocol/lane_memory.h"
#include "core/result.h"
#include "daemon/agents/agent_hub.h"
#include "daemon/base/descriptors.h"

namespace filibuster {

class LaneWriter {
 public:
  static Result<std::unique_ptr<LaneWriter>> create(const HubOptions& options);

  int descriptor() const { return file_.get(); }

  // Replaces the plan under its seqlock; entry i of lane memory is row i. Error: it does not fit,
  // then the old plan stands.
  Result<void> write_plan(std::span<const PlannedRpcFault> rows);
  // `arm`: from 1, as the rows with an edge stand in the plan.
  void arm(uint32_t arm, uint32_t execution, uint32_t calls) {
    memory_->arms[arm - 1].left.store(uint64_t{execution} << 32 | calls, std::memory_order_release);
  }
  bool is_waiting(uint32_t arm, uint32_t execution) const {
    const uint64_t left = memory_->arms[arm - 1].left.load(std::memory_order_acquire);
    return left >> 32 == execution && static_cast<uint32_t>(left) != 0;
  }
  // Replaces the masks under their seqlock. To be called between executions.
  void write_masks(const MaskTable& masks);
  // `wanted`: agents report the fields of every body, from the next execution on.
  void report_fields(bool wanted);
  // What agents record from now on (LaneMemory::recording).
  void record(uint32_t recording) {
    memory_->recording.store(recording, std::memory_order_release);
  }
  // Replaces the random numbers that programs are given; without any they get the machine's.
  void show_draws(std::span<const ShownDraw> draws);
  void write_hosts(std::span<const HostAddress> hosts);
  void write_targets(std::span<const Target128> targets);

  // Opens the lane for `execution`, with room for its counters.
  void begin(uint32_t execution);
  void end();

  // May be called from any thread.
  void renew_lease(uint64_t now_ns) { memory_->lease_ns.store(now_ns, std::memory_order_release); }
  // Requests since begin() whose header field was not one of this session.
  uint32_t damaged_fields() const {
    return memory_->damaged_fields.load(std::memory_order_acquire);
  }
  // How often agents have said since begin() that the execution is incomplete, and why the first one has.
  uint32_t times_lost() const { return memory_->counters_lost.load(std::memory_order_acquire); }
  Incomplete first_lost_by() const {
    return static_cast<Incomplete>(memory_->first_lost_by.load(std::memory_order_relaxed));
  }

 private:
  LaneWriter() = default;
  void clear_counters();
  void set_field_option(FieldOptions option, bool on);

  UniqueFd file_;
  SharedMapping<LaneMemory> memory_;
};

}  // namespace filibuster
