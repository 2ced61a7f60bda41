#include "daemon/report/representation.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>
#include <unordered_map>

#include "daemon/model/execution_record.h"
#include "daemon/redact/redact.h"
#include "daemon/report/tree_text.h"

namespace filibuster {
namespace {

struct RepresentationRow {
  std::string_view name;
  Representation representation;
};
constexpr RepresentationRow kRepresentations[] = {{"compact", Representation::kCompact},
                                                  {"verbose", Representation::kVerbose},
                                                  {"debugging", Representation::kDebugging}};

struct FlagRow {
  uint16_t flag;
  std::string_view tag;
};
constexpr FlagRow kFlagTags[] = {{kRpcEntry, "formed on arrival"},
                                 {kRpcPreliminary, "preliminary"},
                                 {kRpcRefusedAtConnect, "refused at connect"},
                                 {kRpcOpensConnection, "opens a connection"},
                                 {kRpcLate, "late"},
                                 {kRpcPayloadTruncated, "payload shown in part"},
                                 {kRpcHttp2, "HTTP/2"},
                                 {kRpcGrpc, "gRPC"},
                                 {kRpcRedis, "Redis"},
                                 {kRpcEncrypted, "TLS"},
                                 {kRpcSealed, "not decrypted"},
                                 {kRpcAfterGivingUp, "after a client gave up"},
                                 {kRpcBackground, "by a background task"}};

std::string joined(const std::vector<std::string>& texts, std::string_view between) {
  std::string out;
  for (const std::string& text : texts) {
    if (!out.empty()) out += between;
    out += text;
  }
  return out;
}

uint32_t big_endian(const uint8_t* bytes) {
  return uint32_t{bytes[0]} << 24 | uint32_t{bytes[1]} << 16 | uint32_t{bytes[2]} << 8 | bytes[3];
}

}  // namespace

std::optional<Representation> parse_representation(std::string_view name) {
  for (const RepresentationRow& row : kRepresentations) {
    if (row.name == name) return row.representation;
  }
  return std::nullopt;
}

std::vector<std::string> tags_of(const RpcRecord& rpc) {
  std::vector<std::string> tags;
  if (rpc.cause == Cause::kNone) {
    tags.push_back("cause not known");
  } else if (rpc.cause != Cause::kEntry) {
    tags.push_back("by " + std::string(cause_name(rpc.cause)));
  }
  for (const FlagRow& row : kFlagTags) {
    if ((rpc.flags & row.flag) != 0) tags.emplace_back(row.tag);
  }
  if (rpc.injected) tags.push_back("injected " + to_text(rpc.fault));
  return tags;
}

std::vector<IndexElement> index_elements(const std::vector<RpcRecord>& rpcs, const RpcRecord& rpc,
                                         uint32_t index_parts) {
  std::unordered_map<uint64_t, const RpcRecord*> by_id;
  for (const RpcRecord& each : rpcs) by_id.emplace(each.rpc, &each);
  std::vector<IndexElement> out;
  const RpcRecord* at = &rpc;
  // More elements than RPCs would be a circle, which only a broken agent reports.
  while (at != nullptr && out.size() <= rpcs.size()) {
    IndexElement element;
    element.metadata = joined(tags_of(*at), ", ");
    element.invoking_service = at->caller.empty() ? "test" : at->caller;
    element.signature = http_signature_text(at->service, at->method, at->target);
    if ((index_parts & kIndexStack) != 0) element.stack = at->stack_text;
    if ((index_parts & kIndexPayload) != 0) element.payload = at->payload;
    if ((index_parts & kIndexCount) != 0) element.count = at->count;
    out.push_back(std::move(element));
    if ((index_parts & kIndexPath) == 0 || at->parent_rpc == 0) break;
    const auto parent = by_id.find(at->parent_rpc);
    at = parent == by_id.end() ? nullptr : parent->second;
  }
  std::reverse(out.begin(), out.end());
  return out;
}

std::string to_text(const std::vector<IndexElement>& index, Representation representation) {
  const auto shown = [&](const std::string& part) {
    return representation == Representation::kVerbose ? sha1(part) : part;
  };
  std::string out = "[";
  for (const IndexElement& element : index) {
    if (out.size() > 1) out += " :: ";
    const std::string payload = element.payload.is_zero() ? "" : to_hex(element.payload);
    out += "[" + shown(element.metadata) + "; " + shown(element.invoking_service) + "; " +
           shown(redact(element.signature)) + "; " + shown(joined(element.stack, " < ")) + "; " +
           shown(payload) + "]|" + std::to_string(element.count);
  }
  return out + "]";
}

std::string trace_text(const std::vector<RpcRecord>& rpcs, Representation representation,
                       uint32_t index_parts) {
  if (representation == Representation::kCompact) return tree_text(rpcs);
  std::string out;
  for (const RpcRecord& rpc : rpcs)
    out += to_text(index_elements(rpcs, rpc, index_parts), representation) + "\n";
  return out;
}

std::string sha1(std::string_view text) {
  std::string message(text);
  message.push_back('\x80');
  while (message.size() % 64 != 56) message.push_back('\0');
  const uint64_t bits = uint64_t{text.size()} * 8;
  for (int shift = 56; shift >= 0; shift -= 8) message.push_back(static_cast<char>(bits >> shift));
  std::array<uint32_t, 5> hash = {0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476, 0xC3D2E1F0};
  for (size_t block = 0; block < message.size(); block += 64) {
    std::array<uint32_t, 80> w;
    const auto* bytes = reinterpret_cast<const uint8_t*>(message.data() + block);
    for (size_t t = 0; t < 16; ++t) w[t] = big_endian(bytes + 4 * t);
    for (size_t t = 16; t < 80; ++t)
      w[t] = std::rotl(w[t - 3] ^ w[t - 8] ^ w[t - 14] ^ w[t - 16], 1);
    auto [a, b, c, d, e] = hash;
    for (size_t t = 0; t < 80; ++t) {
      const uint32_t f = t < 20   ? (b & c) | (~b & d)
                         : t < 40 ? b ^ c ^ d
                         : t < 60 ? (b & c) | (b & d) | (c & d)
                                  : b ^ c ^ d;
      constexpr uint32_t kRound[] = {0x5A827999, 0x6ED9EBA1, 0x8F1BBCDC, 0xCA62C1D6};
      const uint32_t next = std::rotl(a, 5) + f + e + kRound[t / 20] + w[t];
      e = d;
      d = c;
      c = std::rotl(b, 30);
      b = a;
      a = next;
    }
    hash[0] += a, hash[1] += b, hash[2] += c, hash[3] += d, hash[4] += e;
  }
  char out[41];
  std::snprintf(out, sizeof out, "%08x%08x%08x%08x%08x", hash[0], hash[1], hash[2], hash[3],
                hash[4]);
  return out;
}

}  // namespace filibuster
