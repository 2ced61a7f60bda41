#include "daemon/retries/expected_errors.h"

#include <algorithm>
#include <cctype>
#include <string>

#include "daemon/model/caller.h"

namespace filibuster::retries {
namespace {

// "test_store.py", "test_open" of the frame of test code from which the call was made.
struct Place {
  std::string_view file, function;
  bool operator==(const Place&) const = default;
};
Place test_place(const RpcRecord& rpc, const CodeOwners& owners) {
  for (const std::string_view frame : rpc.stack_text) {
    if (!is_test_frame(frame, owners)) continue;
    const size_t open = frame.find(" (");
    if (open == frame.npos) return {};
    std::string_view function = frame.substr(open + 2);
    if (function.ends_with(')')) function.remove_suffix(1);
    if (function.starts_with("async ")) function.remove_prefix(6);
    function = function.substr(function.find_last_of('.') + 1);
    return {frame.substr(0, frame.find(':')), function};
  }
  return {};
}

// Does the name of a test have the function's name, as a word of its own?
bool is_named_after(std::string_view test, std::string_view function) {
  const auto is_word = [&](size_t at) {
    return at < test.size() &&
           (std::isalnum(static_cast<unsigned char>(test[at])) != 0 || test[at] == '_');
  };
  if (function.empty()) return false;
  for (size_t at = test.find(function); at != test.npos; at = test.find(function, at + 1)) {
    if (!(at > 0 && is_word(at - 1)) && !is_word(at + function.size())) return true;
  }
  return false;
}

bool is_of_test_code(const RpcRecord& rpc, const CodeOwners& owners) {
  return is_test_call(rpc) && !rpc.stack_text.empty() &&
         is_test_frame(rpc.stack_text.front(), owners);
}

}  // namespace

bool goes_on_after(const ExecutionRecord& record, const RetryGroup& group, const CodeOwners& owners,
                   std::string_view test) {
  const RpcRecord* at = &record.rpcs[group.rpcs.back()];
  while (at->answered_with_error()) {
    const Place from = test_place(*at, owners);
    // Errors of what sets a test up end no test.
    const bool is_body = is_named_after(test, from.function);
    const bool followed = std::ranges::any_of(record.rpcs, [&](const RpcRecord& rpc) {
      return rpc.parent_rpc == at->parent_rpc && rpc.caller == at->caller &&
             rpc.issued_ns >= at->finished_ns && &rpc != at && !is_of_test_code(rpc, owners) &&
             (!is_body || test_place(rpc, owners) == from);
    });
    if (followed) return true;
    const auto cause = std::ranges::find(record.rpcs, at->parent_rpc, &RpcRecord::rpc);
    if (at->parent_rpc == 0 || cause == record.rpcs.end()) return false;
    at = &*cause;
  }
  return at->answered();
}

}  // namespace filibuster::retries
