#include "daemon/agents/lane_writer.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <string_view>

#include "core/index/execution_index.h"
#include "core/protocol/control_page.h"

namespace filibuster {
namespace {

// A request whose body has a known length of up to this many bytes is held until the body is complete,
// so that its index is final before the plan is asked. Most JSON requests are far smaller.
constexpr uint32_t kMaxHeldBody = 64 * 1024;
constexpr uint32_t kPayloadSample = 512;

// Writer of a seqlock: odd while the data is inconsistent.
class SequenceWrite {
 public:
  explicit SequenceWrite(std::atomic<uint32_t>* sequence) : sequence_(sequence) {
    sequence_->fetch_add(1, std::memory_order_relaxed);
    // The data is written after the odd value is visible.
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
  ~SequenceWrite() { sequence_->fetch_add(1, std::memory_order_release); }
  SequenceWrite(const SequenceWrite&) = delete;

 private:
  std::atomic<uint32_t>* sequence_;
};

// How much of a rendered response a HEAD request gets: all but the body.
size_t head_part(const FaultSpec& fault, const std::string& whole) {
  const std::string head = render_http_response(fault, true);
  if (whole.compare(0, head.size(), head) == 0) return head.size();
  const size_t end = whole.find("\r\n\r\n");
  return end == std::string::npos ? whole.size() : end + 4;
}

// What does not fit is left out: the configuration has said so.
uint32_t write_names(const std::vector<std::string>& names,
                     FieldName (&out)[kMaxConfiguredFields]) {
  uint32_t count = 0;
  for (const std::string& name : names) {
    if (name.empty() || name.size() > sizeof(FieldName::name) || count == kMaxConfiguredFields)
      continue;
    FieldName& row = out[count++];
    row.size = static_cast<uint8_t>(name.copy(row.name, sizeof row.name));
  }
  return count;
}

}  // namespace

Result<std::unique_ptr<LaneWriter>> LaneWriter::create(const HubOptions& options) {
  std::unique_ptr<LaneWriter> lane(new LaneWriter);
  Result<UniqueFd> file = sealed_memory("filibuster-lane", sizeof(LaneMemory));
  if (!file) return file.error();
  lane->file_ = std::move(file).value();
  if (!lane->memory_.map(lane->file_.get())) return system_error("mmap of lane memory");

  LaneMemory* memory = lane->memory_.get();
  memory->magic = kLaneMagic;
  memory->major = kProtocolMajor;
  memory->minor = kProtocolMinor;
  memory->size = sizeof(LaneMemory);
  memory->session = options.session;
  memory->lane = options.lane;
  memory->index_parts = options.index_parts;
  memory->frames = options.frames;
  if (options.fast_timeouts) memory->options |= kOptionFastTimeouts;
  if (options.origins) memory->options |= kOptionOrigins;
  if (options.library_commands) memory->options |= kOptionLibraryCommands;
  memory->request_id_count = write_names(options.request_ids, memory->request_ids);
  memory->told_field_count = write_names(options.told_fields, memory->told_fields);
  memory->max_held_body = kMaxHeldBody;
  memory->payload_sample = kPayloadSample;
  lane->renew_lease(clock_ns());
  return lane;
}

Result<void> LaneWriter::write_plan(std::span<const PlannedRpcFault> rows) {
  if (rows.size() > kMaxPlanEntries) {
    return Error{"the plan of an execution has " + std::to_string(rows.size()) +
                 " faults; at most " + std::to_string(kMaxPlanEntries) + " fit"};
  }
  std::string blob;
  std::vector<PlanEntry> entries;
  entries.reserve(rows.size());
  uint32_t at_connect = 0, sequences = 0, arms = 0;
  for (const PlannedRpcFault& row : rows) {
    PlanEntry entry{};
    entry.index = row.index;
    if (row.edge) {
      // A refusal comes when the request is known, and no connection is ended for it.
      entry.edge =
          edge_hash({row.edge->caller, row.edge->service, row.edge->method, row.edge->path});
      entry.arm = ++arms;
      entry.reset_expected = 1;
    } else if (is_at_connect(row.fault.kind)) {
      const bool by_stack = (memory_->index_parts & kIndexStack) != 0;
      const Hash128 service = hash_text(row.service);
      entry.place = call_place(row.parent, service, by_stack ? row.stack : Hash128{});
      entry.service_place = call_place(row.parent, service, Hash128{});
      const bool elsewhere = !row.connect_key.is_zero() && row.connect_key != entry.place;
      entry.connect_key = elsewhere ? row.connect_key : entry.place;
      // A connect that is made at another place than its request shares only the service with it.
      if (!elsewhere && entry.place != entry.service_place) entry.number = row.number;
      entry.service_number = row.service_number;
      entry.reset_expected = row.reset_expected ? 1 : 0;
      if (entry.number != 0 || entry.service_number != 0) ++at_connect;
    }
    entry.group = row.group;
    if (row.is_item) {
      entry.attempt_first = row.when.first;
      entry.attempt_last = row.when.last;
      entry.attempt_step = row.when.step;
    } else if (row.fault.kind == FaultKind::kAttempts) {
      sequences = std::max(sequences, row.group + 1);
    }
    entry.signature = row.signature;
    entry.parent_path = row.parent;
    entry.count = row.count;
    entry.kind = static_cast<uint8_t>(row.fault.kind);
    entry.after_effect = row.fault.after_effect ? 1 : 0;
    entry.status = row.fault.status;
    entry.tls = static_cast<uint8_t>(row.fault.tls);
    entry.stalls = stalls(row.fault) ? 1 : 0;
    entry.id = static_cast<uint32_t>(entries.size());
    // Answers over HTTP/2, gRPC statuses among them, are made by the relay, which has the FaultSpec.
    const bool is_status = row.fault.kind == FaultKind::kStatus;
    if (is_status || row.fault.kind == FaultKind::kRedis) {
      const std::string response =
          is_status ? render_http_response(row.fault, false) : redis_error_line(row.fault);
      entry.blob_offset = static_cast<uint32_t>(blob.size());
      entry.blob_size = static_cast<uint32_t>(response.size());
      if (is_status) entry.blob_head_size = static_cast<uint32_t>(head_part(row.fault, response));
      if (response.size() > kBlobSize - blob.size()) {
        return Error{"the planned responses of an execution need more than " +
                     std::to_string(kBlobSize) +
                     " bytes; shorten the configured bodies and messages"};
      }
      blob += response;
    }
    entries.push_back(entry);
  }

  if (sequences > kMaxAttemptGroups) {
    return Error{"the plan of an execution has " + std::to_string(sequences) +
                 " sequences of attempts; at most " + std::to_string(kMaxAttemptGroups) + " fit"};
  }

  if (arms > kMaxArms) {
    return Error{"the plan of an execution has " + std::to_string(arms) +
                 " faults that wait for a call; at most " + std::to_string(kMaxArms) + " fit"};
  }

  const SequenceWrite write(&memory_->plan_sequence);
  std::copy(entries.begin(), entries.end(), memory_->plan);
  std::copy(blob.begin(), blob.end(), memory_->blob);
  memory_->plan_count = static_cast<uint32_t>(entries.size());
  memory_->connects_planned.store(at_connect, std::memory_order_relaxed);
  memory_->sequences_planned.store(sequences, std::memory_order_release);
  for (Arm& arm : memory_->arms) arm.left.store(0, std::memory_order_relaxed);
  memory_->arms_planned.store(arms, std::memory_order_release);
  return {};
}

void LaneWriter::set_field_option(FieldOptions option, bool on) {
  const uint32_t others = memory_->field_options.load(std::memory_order_relaxed) & ~option;
  memory_->field_options.store(on ? others | option : others, std::memory_order_release);
}

void LaneWriter::write_masks(const MaskTable& masks) {
  {
    const SequenceWrite write(&memory_->mask_sequence);
    memory_->masks = masks;
  }
  set_field_option(kFieldsMasked, masks.rule_count != 0);
}

void LaneWriter::report_fields(bool wanted) {
  set_field_option(kFieldsReported, wanted);
}

void LaneWriter::write_targets(std::span<const Target128> targets) {
  const size_t count = std::min<size_t>(targets.size(), kMaxTargets);
  const SequenceWrite write(&memory_->target_version);
  std::copy_n(targets.begin(), count, memory_->targets);
  memory_->target_count = static_cast<uint32_t>(count);
}

void LaneWriter::show_draws(std::span<const ShownDraw> draws) {
  DrawTable& table = memory_->draws;
  const SequenceWrite write(&table.sequence);
  uint32_t count = 0, used = 0;
  for (const ShownDraw& draw : draws) {
    if (count == kMaxDraws) break;
    if (draw.bytes.empty() || draw.bytes.size() > kMaxDrawBytes ||
        draw.bytes.size() > kMaxDrawBytesInAll - used)
      continue;
    DrawRow& row = table.rows[count++];
    row.source = static_cast<uint8_t>(draw.source);
    row.flags =
        static_cast<uint8_t>((draw.of_process ? kDrawOfProcess : 0) | (draw.own ? kDrawOwn : 0));
    row.size = static_cast<uint16_t>(draw.bytes.size());
    row.offset = used;
    draw.bytes.copy(reinterpret_cast<char*>(table.bytes) + used, draw.bytes.size());
    used += row.size;
  }
  table.count.store(count, std::memory_order_relaxed);
}

void LaneWriter::write_hosts(std::span<const HostAddress> hosts) {
  uint32_t count = 0;
  std::map<std::string_view, uint16_t> numbers;
  for (const HostAddress& host : hosts) {
    if (count == kMaxHosts) break;
    HostRow& row = memory_->hosts[count++];
    const auto number = static_cast<uint16_t>(numbers.size() + 1);
    row.number = numbers.emplace(host.name, number).first->second;
    row.port = host.port;
    row.real_port = host.real_port;
    std::copy(host.address.begin(), host.address.end(), row.address);
    row.name_size = static_cast<uint8_t>(host.name.copy(row.name, sizeof row.name));
  }
  memory_->host_count.store(count, std::memory_order_release);
}

// A thread that was stopped in the middle of an execution that is over may go on counting meanwhile.
// The odd epoch keeps it out, and the new one tells it that its slot is another one's.
void LaneWriter::clear_counters() {
  memory_->counters_used.store(0, std::memory_order_relaxed);
  const uint32_t epoch = memory_->counter_epoch.load(std::memory_order_relaxed) + 2;
  memory_->counter_epoch.store(epoch - 1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  for (CounterSlot& slot : memory_->counters) {
    slot.count.store(uint64_t{epoch} << 32, std::memory_order_relaxed);
    slot.key.store(0, std::memory_order_release);
  }
  memory_->counter_epoch.store(epoch, std::memory_order_release);
}

void LaneWriter::begin(uint32_t execution) {
  // Keys contain their execution, so those of earlier ones only take room. Clearing the table (1 MiB)
  // each time would cost more than the rest of this function.
  if (memory_->counters_used.load(std::memory_order_relaxed) > kCounterSlots / 4) clear_counters();
  memory_->counters_lost.store(0, std::memory_order_relaxed);
  memory_->first_lost_by.store(0, std::memory_order_relaxed);
  memory_->damaged_fields.store(0, std::memory_order_relaxed);
  memory_->execution.store(execution, std::memory_order_relaxed);
  renew_lease(clock_ns());
  memory_->state.store(static_cast<uint32_t>(LaneState::kExecuting), std::memory_order_release);
}

void LaneWriter::end() {
  memory_->state.store(static_cast<uint32_t>(LaneState::kIdle), std::memory_order_release);
}

}  // namespace filibuster
