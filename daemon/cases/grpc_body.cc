#include "daemon/cases/grpc_body.h"

#include <algorithm>

#include "core/grpc/call.h"
#include "core/grpc/message_reader.h"
#include "core/text/ascii.h"

namespace filibuster::cases {

bool is_grpc(const Headers& headers) {
  return std::any_of(headers.begin(), headers.end(), [](const auto& each) {
    return equal_ignoring_case(each.first, "content-type") && grpc::is_grpc(each.second);
  });
}

std::optional<std::vector<std::string_view>> grpc_messages(std::string_view body) {
  struct Collector final : grpc::MessageHandler {
    void on_message(const grpc::MessageInfo& info) override {
      any_compressed = any_compressed || info.compressed;
    }
    void on_message_end(const grpc::MessageInfo& info) override {
      out.push_back(all.substr(info.offset + grpc::kPrefixSize, info.size));
    }
    std::string_view all;
    std::vector<std::string_view> out;
    bool any_compressed = false;
  } collector;
  collector.all = body;
  grpc::MessageReader reader;
  if (!reader.feed(body.data(), body.size(), &collector) || !reader.between_messages() ||
      collector.any_compressed)
    return std::nullopt;
  return std::move(collector.out);
}

void put_grpc_message(std::string_view message, std::string* body) {
  char prefix[grpc::kPrefixSize];
  grpc::write_prefix(false, static_cast<uint32_t>(message.size()), prefix);
  body->append(prefix, sizeof prefix).append(message);
}

}  // namespace filibuster::cases
