// The tree of one execution, as report.html shows it.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "daemon/model/call_name.h"
#include "daemon/model/caller.h"
#include "daemon/page/data.h"
#include "daemon/redact/redact.h"

namespace filibuster {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMaxSample = 256;  // bytes of a body that are shown
constexpr size_t kMaxBinary = 24;   // bytes of a body that is no text
constexpr double kNsPerMs = 1e6;

bool is_text(std::string_view bytes) {
  return std::none_of(bytes.begin(), bytes.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < 0x20 && c != '\n' && c != '\r' && c != '\t') || byte == 0x7f;
  });
}

// The first bytes of a body for a person: as text without secrets, or as hexadecimal digits.
std::string shown_body(const std::string& sample, uint64_t size) {
  if (sample.empty()) return "";
  if (!is_text(sample)) {
    std::string out = "binary, " + std::to_string(size) + " bytes:";
    char digits[4];
    for (size_t i = 0; i < std::min(sample.size(), kMaxBinary); ++i) {
      snprintf(digits, sizeof digits, " %02x", static_cast<unsigned char>(sample[i]));
      out += digits;
    }
    return out + (size > kMaxBinary ? " ..." : "");
  }
  // Redacted before it is cut: a part of a secret is not recognised.
  std::string out = redact(sample);
  const bool cut = out.size() > kMaxSample || size > sample.size();
  if (out.size() > kMaxSample) out.resize(kMaxSample);
  return cut ? out + "..." : out;
}

std::string request_of(const RpcRecord& rpc) {
  if (!rpc.arguments.empty()) return redact_object(rpc.arguments);
  // Without descriptors the message of gRPC has no names.
  return rpc.is_grpc() ? "" : shown_body(rpc.body_sample, rpc.body_sample.size());
}

// What the fault's kind does not tell of its injection.
std::string note_of(const RpcRecord& rpc) {
  if (rpc.hang_limit.reached != HangLimit::Reached::kNot) return to_text(rpc.hang_limit);
  if (rpc.refused_as_reset()) return "the connection was open, so it was reset instead";
  return rpc.elapsed ? "the caller's wait was ended at once" : "";
}

}  // namespace

std::string page_tree(const std::vector<RpcRecord>& rpcs) {
  std::unordered_map<uint64_t, size_t> places;
  uint64_t first_ns = UINT64_MAX;
  for (size_t i = 0; i < rpcs.size(); ++i) {
    places.emplace(rpcs[i].rpc, i);
    if (rpcs[i].issued_ns != 0) first_ns = std::min(first_ns, rpcs[i].issued_ns);
  }
  const auto ms = [&](uint64_t ns) {
    return ns == 0 || ns < first_ns
               ? Json(nullptr)
               : Json(std::round(static_cast<double>(ns - first_ns) / kNsPerMs * 100) / 100);
  };
  Json out = Json::array();
  for (size_t i = 0; i < rpcs.size(); ++i) {
    const RpcRecord& rpc = rpcs[i];
    const auto parent = places.find(rpc.parent_rpc);
    const bool known = rpc.parent_rpc != 0 && parent != places.end() && parent->second < i;
    out.push_back({{"index", to_hex(rpc.index)},
                   {"parent_row", known ? Json(parent->second) : Json(nullptr)},
                   {"parent", rpc.parent.is_zero() ? "" : to_hex(rpc.parent)},
                   {"caller", caller_of(rpc)},
                   {"service", rpc.service},
                   {"name", call_name(rpc, rpc.target)},
                   {"protocol", protocol_name(rpc.protocol())},
                   {"count", rpc.count},
                   {"stack", rpc.stack_text},
                   {"cause", cause_name(rpc.cause)},
                   {"received", !rpc.received_by.empty()},
                   {"start", ms(rpc.issued_ns)},
                   {"end", rpc.open ? Json(nullptr) : ms(rpc.finished_ns)},
                   {"outcome", ending_name(rpc)},
                   {"failed", rpc.failed()},
                   {"injected", rpc.injected ? to_text(rpc.fault) : ""},
                   {"detail", note_of(rpc)},
                   {"request", request_of(rpc)},
                   {"answer", shown_body(rpc.response_sample, rpc.response_size)},
                   {"size", rpc.response_size},
                   {"digest", rpc.response.is_zero() ? "" : to_hex(rpc.response).substr(0, 16)}});
  }
  redact_texts(&out);
  return out.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace filibuster
