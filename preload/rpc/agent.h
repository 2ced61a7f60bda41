// The agent: what one process knows of its session. Everything the hooks need from the outside
// world goes through this header: registration, the plan, the counters, causality, events.
//
// Rules: nothing here throws, allocates from the host's heap, uses stdio or changes errno for the
// host (the hooks' HookScope restores it). Every function may be called from any thread, in a
// signal handler of the host too (then nothing that needs a lock held by the interrupted code may
// be waited for: try, else report and pass through).
#pragma once

#include <sys/socket.h>

#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "core/hash.h"
#include "core/protocol/control_page.h"
#include "core/protocol/events.h"
#include "core/protocol/lane_memory.h"
#include "core/protocol/messages.h"
#include "core/protocol/relay.h"
#include "core/rpc/header_field.h"
#include "preload/rpc/attempts.h"
#include "preload/rpc/request_head.h"

namespace filibuster::preload {

// --- session ---------------------------------------------------------------------------------

// Says whether there is a session. It points to the generation of the session that this process follows,
// or else to that of the head of its control page. It is nullptr until the first stream socket of the
// process (note_stream_socket). What it points to is never unmapped.
extern std::atomic<const std::atomic<uint64_t>*> g_session;

// To be called by the hooks of socket/accept/connect/listen: maps the control page the first time.
void note_stream_socket();

// "FILIBUSTER_APPLICATION=FOLDER" for the programs that this process starts, nullptr: they need none. Those of a process that
// follows a session by the folder that it was started in belong to that folder, too, whichever they are started in. May be
// called in a child of fork or vfork.
const char* application_to_pass_on();

// The generation of the session that this process follows; if it follows none, a number that is no
// session's. 0: there is no session.
inline uint64_t session_generation() {
  const std::atomic<uint64_t>* session = g_session.load(std::memory_order_relaxed);
  return session == nullptr ? 0 : session->load(std::memory_order_relaxed);
}

// The fast path: false with one relaxed load where there is no session.
inline bool session_present() {
  return session_generation() != 0;
}

// Is this process registered with the session's daemon? It registers now if need be: one round trip, of
// at most 1 s. If that fails, it is inert until the generation changes. False: pass through.
bool attached();

// Has this process tried to register with the daemon of this session, in vain?
bool registration_failed();

// attached(), an execution runs, and this is our own process (not a vfork child).
bool executing();

// The current execution number (0 when none).
uint32_t current_execution();

// LaneOptions of the lane this process is attached to; 0 when it is not. One load.
uint32_t lane_options();

// Bounds that the session sets (core/protocol/lane_memory.h). Zeros without a registration.
struct LaneSettings {
  uint32_t max_held_body = 0;   // bytes
  uint32_t payload_sample = 0;  // bytes
};
LaneSettings lane_settings();

// Is this thread of control really this process? (A vfork child shares our memory; os/own_process.cc tells
// it apart.) Hooks that keep books pass through when false.
bool own_process();

// This process takes part in no session from now on. Gives what return_to_sessions() takes, if it does so again.
const std::atomic<uint64_t>* leave_sessions();
void return_to_sessions(const std::atomic<uint64_t>* session);

// Called in the child after fork: drops the inherited registration (socket, ring, lane memory), so that the
// child registers anew at its next use. Lock-free.
void after_fork_in_child();

// Descriptors that belong to the agent (>= 48 where the limit allows, CLOEXEC). The hooks of
// close, close_range, closefrom, dup2, dup3 ask; `relocate` moves ours away from `fd` (dup2 onto
// it).
bool is_own_descriptor(int fd);
bool relocate_own_descriptor(int fd);
// Moves `fd` to a high number with CLOEXEC and remembers it as ours; returns the new number or -1.
int adopt_descriptor(int fd);
// A second number for `fd`, high and ours, or -errno: release_descriptor() ends it.
long duplicate_high(int fd);
void release_descriptor(int fd);  // close one of ours

// --- targets ---------------------------------------------------------------------------------

struct TargetInfo {
  bool known = false;
  uint32_t flags = 0;  // TargetFlags
  // If it is not known: the name by which the client asked for it in its ClientHello or CONNECT request; or none.
  char service[104];
  uint8_t service_size = 0;
  std::string_view name() const { return {service, service_size}; }
};
// Looks the address up in the lane's table of names. If it is not there, known == false (the caller then
// uses the Host header's host without port as the service name).
TargetInfo lookup_target(const sockaddr* address, socklen_t size);
// "127.0.0.1:5001", "[::1]:80", "unix:/path"; returns its length.
size_t describe_address(const sockaddr* address, socklen_t size, char* out, size_t capacity);
// A socket of this process has begun to listen: tells the daemon its address.
void report_listen(const sockaddr* address, socklen_t size);

// --- causality -------------------------------------------------------------------------------

// An incoming request of this process from its head until its response is written (or its
// connection is gone). Slab object, freed by incoming_end.
struct Incoming;

struct IncomingInfo {
  const RequestHead* head;  // head->filibuster empty: the caller has no agent
  bool multiplexed;  // read by an event loop that also waits for others: the thread proves nothing
};
// Emits RpcReceived (for an entry without header: RpcIssued with kRpcEntry first). A forged or damaged
// header is reported, and the request is taken for an entry. nullptr: no execution runs, or a table is
// full (reported).
Incoming* incoming_begin(const IncomingInfo& info);
// Will incoming_body_complete read the digest? (nullptr: no)
bool incoming_needs_body(const Incoming* incoming);
// The next bytes of the body; bytes of it that went by unseen.
void incoming_body_piece(Incoming* incoming, const char* data, size_t size);
void incoming_body_unseen(Incoming* incoming);
// The whole request body of an entry without header is known: finalises its index.
void incoming_body_complete(Incoming* incoming, Hash128 body, uint64_t size);
// The path of what the request causes, and its execution. False: `incoming` is nullptr.
bool incoming_path(const Incoming* incoming, Hash128* path, uint32_t* execution);
void incoming_end(Incoming* incoming, uint16_t status, uint8_t grpc_status = kNoGrpcStatus);

// Event-loop detection, fed by the hooks: this thread waits on an epoll set / poll set that holds
// accepted connections among other descriptors.
void note_multiplexing_thread();
bool thread_is_multiplexing();

// --- outgoing RPCs ---------------------------------------------------------------------------

struct RequestFields;  // preload/rpc/fields.h
// Where a request was made, and what caused it: as of the moment its head was written.
struct RequestOrigin;

// The name of this process as a caller.
std::string_view own_service();
// The name of an RPC's target in its signature: from the table, else as the request says.
std::string_view target_service(const TargetInfo& target, const RequestHead& head,
                                std::string_view peer);

// A connect, as connect_begin names it.
struct ConnectName {
  Hash128 key;         // call_place of the connect; zero: its cause is not known
  uint64_t group = 0;  // the logical connect (connect_groups.h); 0: none
};

struct OutgoingInfo {
  const RequestHead* head;
  TargetInfo target;
  std::string_view peer;                  // describe_address of it
  bool body_complete;                     // false: the index is preliminary
  Hash128 body;                           // digest, without what is masked
  const RequestFields* fields = nullptr;  // nullptr: nothing of the request is masked
  std::string_view body_sample;           // first bytes of the body
  bool opens_connection;                  // first request on this connection
  bool encrypted = false;                 // the connection is
  ConnectName connect;                    // from connect_begin, if the request opens the connection
  const RequestOrigin* origin = nullptr;  // if the request was held; nullptr: it is made just now
  // `origin` is that of another request that the same call sends: this one was made there, too.
  bool sent_together = false;
};

// What is left of a call that waits for nothing but its end.
struct OpenCall {
  bool active = false;  // an RPC of the current execution is open here
  Protocol protocol = Protocol::kHttp;
  uint64_t rpc = 0;
  uint64_t generation = 0;  // of the session it belongs to (control page)
  uint32_t execution = 0;
  Attempt attempt = {};  // of a sequence of the plan
};

struct OutgoingCall : OpenCall {
  Hash128 index, parent_path, signature, stack;
  Hash128 http_signature;  // (m, f, a), to finalise a preliminary index
  Hash128 query;           // digest of the query, for the same
  uint32_t count = 0;      // k
  uint16_t flags = 0;
  bool insert_header = false;         // else nothing is inserted (third party, already overwritten)
  bool overwrite_header = false;      // the request carries a field: put our value over its value
                                      // (HTTP/2: append a second one, which is the one that counts)
  char header_line[kHeaderLineSize];  // "x-filibuster: ...\r\n"; the value begins at
                                      // kHeaderName.size() + 2
  uint32_t replies = 1;  // how many the server gives; in a Redis transaction for all commands
  bool faulted = false;  // plan holds the fault to inject, the lease is fresh
  PlanEntry plan;        // a copy; `blob` texts by plan_blob()
};
// Finds out who makes a request that is to be held until its body is there. (Another thread or task may
// bring the body.) *origin is nullptr if the head says all that is to be known, or if nobody asks. False:
// there is no room to keep the origin, so the request must not be held. Of `info` only what belongs to the
// head is read.
bool note_origin(const OutgoingInfo& info, const RequestOrigin** origin);
void drop_origin(const RequestOrigin* origin);  // nullptr is allowed
// Forms the index: finds the parent, captures the stack, counts, emits RpcIssued, consults the
// plan. `call->active` false: pass through.
void outgoing_begin(const OutgoingInfo& info, OutgoingCall* call);
// The body of a preliminary call is complete; `body` is its digest without what is masked. Emits
// RpcFinalized. The call gets no fault any more.
void outgoing_body_complete(OutgoingCall* call, Hash128 body);
// A sample of the body that is longer than what outgoing_begin had, from the first byte on: emits RpcBody.
void outgoing_body_sample(const OutgoingCall& call, std::string_view sample, bool truncated);
// Emits RpcFinished and closes the call.
void outgoing_end(OpenCall* call, const RpcFinished& finished);
// To be called before report_fault if the fault of `call` is a refusal that is injected as a reset.
void outgoing_refused_as_reset(const OutgoingCall& call);
// Emits FaultFired.
void report_fault(const OutgoingCall& call, FaultHow how, std::string_view detail);
// Emits NoLimit.
void report_no_limit(const OpenCall& call);
// The rendered HTTP response of a kStatus entry, copied out of lane memory into `out`; its size.
size_t plan_blob(const PlanEntry& entry, bool head_request, char* out, size_t capacity);

// --- connects --------------------------------------------------------------------------------

struct ConnectDecision {
  ConnectName name;
  bool refuse = false;  // redirect to the refusing port; RpcIssued, FaultFired and RpcFinished
                        // (kRpcRefusedAtConnect) have been emitted
  // The handshake of this connection is to fail (FaultKind::kTls). Active: RpcIssued has been emitted, and
  // stream/handshake_faults.h does the rest.
  OpenCall handshake;
  PlanEntry plan;
};
// One logical connect: tries of further addresses of one name with the same port after a refusal
// belong to the same one (a client tries ::1, then 127.0.0.1), and share its decision.
ConnectDecision connect_begin(const sockaddr* address, socklen_t size);
// Tells what the real connect gave (0, EINPROGRESS, errno), so that a try of the next address is
// recognised. An organic refusal by a service of the application is reported only through the note
// "connect refused: <peer>": it is no RPC that failed.
void connect_result(const ConnectDecision& decision, const sockaddr* address, socklen_t size,
                    int error);

// The application read an answer that a fault was just about to replace.
void report_read_before_fault();

// Is there a place where the next RPC that the request with this path causes is to be refused at connect?
// One relaxed load where no refusal is planned.
bool refusal_follows(Hash128 parent_path, uint32_t execution, PlanEntry* entry);
// Does this process use a connection to `service` again without looking whether it was ended?
bool uses_ended_connections(std::string_view service);
// This process used an ended connection to `service` between executions.
void report_ended_connection_used(std::string_view service);
// This process used an ended connection for `call`. It was ended in `execution` for another RPC, that of
// the plan entry.
void report_ended_connection_used(const OutgoingCall& call, std::string_view service,
                                  uint32_t plan_entry, uint32_t execution);

// --- reports ---------------------------------------------------------------------------------

void report_not_interposed(NotInterposedReason reason, bool outgoing, std::string_view peer,
                           std::string_view service);
// Nothing is reported while no execution runs: nobody misses such requests.
void report_unseen_requests(uint64_t count, std::string_view peer, std::string_view service);
// Each distinct text is reported once by each process in a session.
void report_note(std::string_view text, NoteKind kind = NoteKind::kOther);
// The text is the parts one after the other; what exceeds 512 bytes is left out.
void report_note(std::initializer_list<std::string_view> parts, NoteKind kind = NoteKind::kOther);

// Sends a HandOff with one or two descriptors to the daemon, which then owns them (ours are
// closed). False: no daemon; the descriptors are still ours.
bool hand_off(const OutgoingCall& call, HandOffKind kind, bool head_request, int held, int real);
// The same for HandOffKind::kRelay. `tail`: the bytes that follow the state.
bool hand_off_relay(const OutgoingCall& call, const RelayState& state, const char* tail, int held,
                    int real);

}  // namespace filibuster::preload
