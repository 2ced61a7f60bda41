// Lane memory: one shared mapping (memfd) per lane, written by the daemon and read by every agent of
// that lane. It holds the plan of the current execution, the lease, the service names, and what the
// agents themselves write: invocation counters and what call sites were seen doing. An agent receives
// it with the registration. All offsets and sizes are fixed; all fields are valid in processes of
// either word size.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/hash.h"
#include "core/index/frame_rules.h"
#include "core/index/masks.h"
#include "core/protocol/draws.h"
#include "core/protocol/incomplete.h"

namespace filibuster {

inline constexpr uint64_t kLaneMagic = 0x454e414c42494c46ull;  // "FLIBLANE"
inline constexpr uint64_t kLeaseNs = 1'000'000'000;  // no fault fires under an older lease
inline constexpr uint32_t kMaxPlanEntries = 2048;
inline constexpr uint32_t kMaxTargets = 512;
inline constexpr uint32_t kMaxHosts = 256;
inline constexpr uint32_t kCounterSlots = 1u << 16;
inline constexpr uint32_t kSiteSlots = 1u << 13;
inline constexpr uint32_t kBlobSize = 1u << 18;
inline constexpr uint32_t kMaxAttemptGroups = 64;  // sequences of attempts in one plan
inline constexpr uint32_t kMaxArms = 256;  // faults in one plan that wait for a call of their edge

enum class LaneState : uint32_t {
  // no execution: pass through, no header, no event but Listen, NotInterposed and, in a recording, ConnectionSeen
  kIdle = 0,
  kExecuting = 1,  // between the start of the test and quiescence
};

// One planned fault, for the RPC with index `index`. A refusal is injected at connect where it is known
// which RPC the connect is for: the connect is made at `connect_key`, and by what was counted at `place`
// and at `service_place` the RPC is the next one there. `number` and `service_number` are its numbers at
// these places (0: not known, since concurrent RPCs have no order). A refused connect counts like the
// request in whose place it stands.
struct PlanEntry {
  Hash128 index;
  Hash128 connect_key;           // call_place
  Hash128 place, service_place;  // call_place with and without the call stack
  Hash128 signature;  // invocation signature r: its counter advances when the connect is refused
  Hash128 parent_path;
  uint32_t number, service_number;  // both 0: never injected at connect
  uint32_t count;                   // k of that RPC
  // 1: no connection is ended for this refusal. Either it was a reset in the execution from which this
  // plan was made, or its RPC did not come when a connection was ended for it.
  uint8_t reset_expected;
  uint8_t kind;  // FaultKind
  uint8_t tls;   // TlsFault
  uint8_t after_effect;
  uint16_t status;
  uint8_t stalls;  // kSlowBody: the body stops in its middle (stalls(FaultSpec))
  // kStatus: rendered HTTP response in `blob` (with body). kRedis: the line of an error reply, without
  // its '-' and its line end; of `redis:nil` empty.
  uint32_t blob_offset;
  uint32_t blob_size;
  uint32_t blob_head_size;  // the part to send to a HEAD request
  uint32_t id;              // names this entry in events (position in the plan)
  // Of a sequence of attempts (kAttempts), and of its items: the number of its AttemptGroup. The items are entries of
  // their own, in the order of the sequence and without an index, so that no RPC is found to be theirs. An item
  // stands for the attempts first, first + step, ..., last (0: without an end); kNone: they pass.
  uint32_t group;
  uint32_t attempt_first, attempt_last, attempt_step;  // of an item; else 0
  // Of a fault that is armed for an edge, in the place of the index: edge_hash() of it, and the number of its Arm and 1. 0: it has none.
  Hash128 edge;
  uint32_t arm;
};

enum TargetFlags : uint32_t {
  kTargetInApplication = 1u << 0,  // gets our header
  kTargetThirdParty = 1u << 1,     // RPCs are faulted, never gets our header
  kTargetNever = 1u << 2,          // the daemon itself: never interposed
  kTargetIgnored = 1u << 3,        // configured as not interposed (a database port, ...)
  kTargetRedis = 1u << 4,          // declared to speak Redis
};

// address -> service. Loopback addresses (127.0.0.0/8, ::ffff:127.x; ::1 is 127.0.0.1) are of kind
// kLoopback, with the address. Wildcard listeners and services without a `host` are kLoopback, too, with
// zeros: they are found at every loopback address that has no row of its own.
enum class TargetKind : uint8_t { kEmpty = 0, kLoopback = 1, kIpv4 = 2, kIpv6 = 3, kUnix = 4 };
struct Target128 {
  TargetKind kind;
  uint8_t service_size;
  uint16_t port;        // host byte order
  uint32_t flags;       // TargetFlags
  uint8_t address[16];  // kIpv4, kLoopback: first 4; kUnix: hash of the path (Hash128)
  char service[104];    // not terminated; service_size bytes
};
static_assert(sizeof(Target128) == 128);

// A name under which programs of the lane call one of its services, and the port that they write with it. Agents answer a
// name with an address of kHostNetwork that is the name's own, and lead connects to it to `address` and `real_port`. Names have
// the same addresses in each lane.
struct HostRow {
  uint16_t number;     // of the name, from 1: the last two bytes of its address
  uint16_t port;       // as programs write it; 0: each that has no row of its own
  uint16_t real_port;  // where the service listens in this lane
  uint8_t address[4];  // likewise
  uint8_t name_size;
  uint8_t reserved;
  char name[116];  // in lower case, not terminated
};
static_assert(sizeof(HostRow) == 128);
inline constexpr uint8_t kHostNetwork[2] = {127, 87};  // 127.87.0.0/16

// Invocation counters, open addressing, linear probing. `key` 0 = free. A key is folded from
// counter_key() or call_place() with the number of the execution. A slot is claimed by compare-and-swap,
// then counted. The daemon clears the table between executions only, each time under another epoch: an
// agent of an execution that is over, which found its slot before and counts now, must not count in a
// slot that has another key by now. Nobody counts while the epoch is odd.
struct CounterSlot {
  std::atomic<uint64_t> key;
  std::atomic<uint64_t> count;  // epoch << 32 | how often
};

// What a call site was seen doing: calling while no request, or several, were open bars it from
// 'only-active'. kSiteUsesEndedConnections belongs to a pair of services instead: the caller uses kept
// connections to the other without looking whether they were ended.
enum SiteFlags : uint32_t {
  kSiteSeenWithNone = 1,
  kSiteSeenWithSeveral = 2,
  kSiteUsesEndedConnections = 4,
};
struct SiteSlot {
  std::atomic<uint64_t> key;
  std::atomic<uint32_t> flags;    // in this session
  std::atomic<uint32_t> passing;  // in one execution only: its number << 2 | SiteFlags
};

// A call whose attempts a sequence of the plan decides: live from the first attempt on. All processes of the lane
// share it, since a retry may come from another one.
//   state: execution << 32 | attempts so far << 8 | AttemptState of the newest
// The keys contain the execution (execution_key); they are written before the state that makes them valid.
enum AttemptState : uint32_t { kAttemptOpen = 0, kAttemptFailed = 1, kAttemptSucceeded = 2 };
struct AttemptGroup {
  std::atomic<uint64_t> state;
  std::atomic<uint64_t> by_request_id;  // 0: the call has none
  std::atomic<uint64_t> by_request;     // signature and payload under the same cause
  std::atomic<uint64_t> by_site;        // the same, from the same call site
};

// Whether a fault that waits for a call of its edge is armed. All processes of the lane count down together.
//   left: execution << 32 | how many calls there are up to the one that gets it, this one among them; 0: it is not armed, or has fired;
//         kEachCall: all of them get it
inline constexpr uint32_t kEachCall = UINT32_MAX;
struct Arm {
  std::atomic<uint64_t> left;
};

// A name of a header field that the configuration adds to the known ones: of request ids (core/rpc/request_ids.h), and of
// what the daemon is told (core/rpc/told_fields.h).
struct FieldName {
  uint8_t size;
  uint8_t reserved;
  char name[62];
};
inline constexpr uint32_t kMaxConfiguredFields = 8;

enum LaneOptions : uint32_t {
  kOptionFastTimeouts = 1u << 0,  // elapse visible waits at once
  // What a client library says to Redis by itself (core/resp/commands.h kByLibrary) is an RPC, too: a
  // rule names such a command.
  kOptionLibraryCommands = 1u << 2,
  // Call sites are also taken from where an asynchronous operation was begun (preload/runtimes/: node/helper.cjs,
  // cpython/origins.h).
  kOptionOrigins = 1u << 3,
};

// What agents do with the fields of requests and responses beyond their digests.
enum FieldOptions : uint32_t {
  kFieldsMasked = 1u << 0,    // `masks` has rules
  kFieldsReported = 1u << 1,  // every body's fields go to the daemon (reference executions)
};

// What agents record beside events. The number of the recording stands above these bits, so that agents notice a new one.
enum RecordingParts : uint32_t {
  kRecordPlaces = 1u << 0,  // ConnectionSeen and RpcAt
  kRecordBytes = 1u << 1,   // the bytes of connections, on the tape (tape.h)
};
inline constexpr uint32_t kRecordingShift = 2;

struct LaneMemory {
  uint64_t magic;
  uint16_t major;
  uint16_t minor;
  uint32_t size;  // sizeof(LaneMemory)
  uint32_t session;
  uint32_t lane;
  uint32_t index_parts;     // IndexParts
  uint32_t options;         // LaneOptions
  uint32_t max_held_body;   // bytes; larger or unknown bodies go out under a preliminary index
  uint32_t payload_sample;  // bytes of query + body copied into events

  std::atomic<uint64_t> lease_ns;   // time of the last renewal (shared_clock.h; every 100 ms)
  std::atomic<uint32_t> state;      // LaneState
  std::atomic<uint32_t> execution;  // from 1; 0 before the first
  // Seqlock over plan, plan_count and blob: odd while the daemon writes.
  std::atomic<uint32_t> plan_sequence;
  uint32_t plan_count;
  std::atomic<uint32_t> target_version;  // seqlock over targets: odd while the daemon writes
  uint32_t target_count;
  std::atomic<uint32_t> counters_lost;  // how often it was said: the execution is incomplete
  std::atomic<uint32_t> field_options;  // FieldOptions; changes between executions only
  std::atomic<uint32_t> mask_sequence;  // seqlock over masks: odd while the daemon writes
  // Requests whose header field was not one of this session: ignored or overruled. Advanced by the
  // agents, cleared by the daemon before an execution.
  std::atomic<uint32_t> damaged_fields;
  // Counters that agents claimed since the daemon cleared the table.
  std::atomic<uint32_t> counters_used;
  std::atomic<uint32_t> counter_epoch;
  // How many entries of the plan may be injected at connect. While there are any, agents count what is
  // issued at each place.
  std::atomic<uint32_t> connects_planned;
  // How many sequences of attempts the plan has. While there are none, nothing is looked up for them.
  std::atomic<uint32_t> sequences_planned;
  // How many faults of the plan wait for a call of their edge. While there are none, no edge is computed.
  std::atomic<uint32_t> arms_planned;
  uint32_t request_id_count;            // of the whole session, as the frames
  uint32_t told_field_count;            // the same
  std::atomic<uint32_t> first_lost_by;  // Incomplete: why, where it was said first

  // The recording that runs: its number << kRecordingShift | RecordingParts. 0: none, and nothing is paid for it but this load.
  std::atomic<uint32_t> recording;

  // Of the whole session: the rows of `hosts` are written once, before their number.
  std::atomic<uint32_t> host_count;

  // The execution is incomplete.
  void lost(Incomplete why) {
    uint32_t none = 0;
    first_lost_by.compare_exchange_strong(none, static_cast<uint32_t>(why),
                                          std::memory_order_relaxed);
    counters_lost.fetch_add(1, std::memory_order_release);
  }

  PlanEntry plan[kMaxPlanEntries];
  AttemptGroup groups[kMaxAttemptGroups];
  Arm arms[kMaxArms];
  FieldName request_ids[kMaxConfiguredFields];
  FieldName told_fields[kMaxConfiguredFields];
  Target128 targets[kMaxTargets];
  HostRow hosts[kMaxHosts];
  CounterSlot counters[kCounterSlots];
  SiteSlot sites[kSiteSlots];
  uint8_t blob[kBlobSize];
  MaskTable masks;
  FrameTable frames;  // of the whole session: written before any agent reads
  DrawTable draws;    // of the case that is replayed
};

}  // namespace filibuster
