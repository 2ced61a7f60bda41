// From the parts of a case, as the assembler has joined them, to the case. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/rpc/ending.h"
#include "daemon/cases/model.h"
#include "daemon/record/connection_tape.h"

namespace filibuster::record {

struct Bounds {
  size_t most_bytes = 4u << 20;  // of all messages of a case
  size_t most_calls = 2000;
};

// A call with what orders it.
struct DraftCall {
  cases::Call call;
  std::vector<std::string> stack;  // as agents send it (core/protocol/events.h)
  uint64_t issued_ns = 0, finished_ns = 0;
  uint64_t thread = 0;         // of which agent, too
  uint64_t connection = 0;     // the same; 0: it is not known
  uint64_t number = 0;         // on its connection
  std::string method, target;  // as it was told when it was issued
  RpcEnding ending;
  bool is_http2 = false, is_grpc = false;
};

// A random number, with the stack of who asked for it.
struct DraftDraw {
  cases::Draw draw;
  std::vector<std::string> stack;
  uint64_t ns = 0;  // when
};

struct RecordedCase {
  cases::Case value;
  std::vector<DraftDraw> draws = {};
  std::vector<std::vector<std::string>> stacks;  // of its calls
};
struct RecordedCall {
  cases::Call value;
  std::vector<std::string> stack;
};

struct Assembled {
  std::vector<RecordedCase> cases;  // with the partial ones
  std::vector<RecordedCall> process;
  std::vector<DraftDraw> process_draws;
  std::map<std::string, std::vector<cases::Opening>> openings;  // by service
  std::set<std::string> not_followed;
  // Of the process, what is not whole; calls whose entry is no case of this recording; records that were lost.
  uint64_t partial_process_calls = 0, calls_without_case = 0, lost = 0;
  uint64_t untold_requests = 0;  // that the service got, and of which no agent has told
  bool empty() const {
    return cases.empty() && process.empty() && process_draws.empty() && openings.empty();
  }
};

// Puts what went over the connection into the call. Returns what is not whole, or "".
std::string fill_call(DraftCall* call, Exchange exchange);
// The same for the entry. `target`, `method`: what is known where its bytes are not.
std::string fill_entry(cases::Case* to, Exchange exchange);

// Orders the calls, says which one waits for which, and which ones are attempts of one call.
// `thread`: that has received the request, as DraftCall::thread; 0: it is not known.
RecordedCase make_case(cases::Case value, std::vector<DraftCall> calls, const Bounds& bounds,
                       uint64_t thread = 0);

// A name that files of cases take.
std::string plain_name(std::string_view service, std::string_view peer);

}  // namespace filibuster::record
