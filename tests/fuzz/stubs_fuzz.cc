// What clients send to dependencies without a process: however the bytes are cut, the same calls come out.
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/stubs/choose.h"
#include "daemon/stubs/stub_connection.h"

using namespace filibuster::stubs;

namespace {

// Half of those whose requests are open are answered in turns with them.
void answer_open(StubConnection* connection, uint64_t number) {
  const Call* call = connection->open_call(number);
  if (call == nullptr || call->body.size() % 2 == 0) return;
  Reply reply;
  reply.is_http = true;
  reply.answer.body = "xyz";
  reply.trailers = {{"grpc-status", "0"}};
  reply.parts = {{1, {}, 1}, {1, {}, 2}, {1, {}, {}}};
  connection->reply(number, reply);
}

std::vector<std::string> calls_of(StubConnection* connection, std::string_view bytes, size_t step) {
  std::vector<std::string> out;
  for (size_t at = 0; at < bytes.size(); at += step) {
    const std::string part(bytes.substr(at, step));  // bounds of its own
    const bool good = connection->feed(part);
    for (const OpenCall& call : connection->take_calls()) {
      if (call.is_open) {
        answer_open(connection, call.number);
        continue;
      }
      out.push_back(
          to_text(call.call) + '\0' + call.call.body + '\0' + call.call.field + '\0' +
          call.call.arguments.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
      Reply reply;
      reply.answer.body = out.size() % 2 == 0 ? "x" : "xyz";
      reply.is_http = out.size() % 4 == 1;
      if (reply.is_http) reply.parts = {{1, {}, {}}, {2, {}, {}}};
      reply.grpc_message = "y";
      if (out.size() % 3 == 0) reply.problem = "no stub";
      connection->reply(call.number, reply);
    }
    while (const auto due = connection->take_due()) connection->send_part(due->number);
    connection->take_output();
    if (!good || connection->finished()) break;
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const size_t step = data[0] % 16 + 1;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 2, size - 2);
  const auto make = data[1] % 2 == 0 ? make_http_connection : make_redis_connection;
  const std::unique_ptr<StubConnection> whole = make("users"), parts = make("users");
  const std::vector<std::string> of_whole = calls_of(whole.get(), bytes, bytes.size() + 1);
  const std::vector<std::string> of_parts = calls_of(parts.get(), bytes, step);
  // What comes behind the end of a connection is read or not, as the bytes are cut.
  for (size_t i = 0; i < of_parts.size(); ++i) {
    if (i >= of_whole.size() || of_whole[i] != of_parts[i]) __builtin_trap();
  }
  return 0;
}
