// One execution as the lints walk it: which RPC caused which, and which requests are the same.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "daemon/lint/lint.h"
#include "daemon/model/caller.h"
#include "daemon/report/words.h"

namespace filibuster::lint {

using Rpcs = std::vector<const RpcRecord*>;

class RecordView {
 public:
  explicit RecordView(const ExecutionRecord& record);

  const std::vector<RpcRecord>& rpcs() const { return record_.rpcs; }
  // The requests that one service made for one incoming request, in order of issue. Requests of the
  // test and requests without a known cause are in no group.
  struct Group {
    const RpcRecord* incoming;
    Rpcs rpcs;
  };
  const std::vector<Group>& groups() const { return groups_; }
  // The request of the test that led to `rpc`; nullptr if it is not known.
  const RpcRecord* root_of(const RpcRecord& rpc) const;

 private:
  const ExecutionRecord& record_;
  std::unordered_map<uint64_t, const RpcRecord*> by_id_;
  std::vector<Group> groups_;
};

// False for a late RPC, which belongs to another execution.
bool is_of_this_execution(const RpcRecord& rpc);
// The request was answered, and not with an HTTP status, a gRPC status or an error of Redis after which
// clients send a request again.
bool succeeded(const RpcRecord& rpc);
bool is_read_only(const RpcRecord& rpc);  // RFC 9110 §9.2.1; in Redis, commands that do not write
// Equal for requests to the same service with the same method, target and body.
std::string request_key(const RpcRecord& rpc);
// Equal for requests of one caller to one method of one service from the same call stack. Where the
// stack is not known, the path stands in for it; an HTTP path without its last segment.
std::string site_key(const RpcRecord& rpc);

Call describe_call(const RpcRecord& rpc);
// "GET /movies/1 of movies", "shop.CartService/GetCart of cart"; credentials redacted.
std::string request_text(const RpcRecord& rpc);
// "users -> movies  GET /movies/1", with `between` after the service; credentials redacted.
std::string call_text(const Call& call, const char* between);
// "0.4 ms", "6.0 s"
std::string duration_text(uint64_t nanoseconds);

}  // namespace filibuster::lint
