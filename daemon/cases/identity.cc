#include "daemon/cases/identity.h"

#include <algorithm>

#include "core/index/stable_identity.h"
#include "daemon/cases/route.h"
#include "daemon/report/words.h"
#include "daemon/wire/json_node.h"
#include "daemon/wire/resp_value.h"

namespace filibuster::cases {
namespace {

constexpr size_t kSiteDigits = 8;
constexpr size_t kMostCallText = 120;

}  // namespace

Keys keys_of(const CallInput& input, const Fields& fields) {
  Keys out;
  out.point = combine(hash_text(input.to), static_cast<uint64_t>(input.kind));
  if (input.kind == Kind::kHttp) {
    // Of the field, in which masked segments are alike.
    const auto target = std::find_if(fields.begin(), fields.end(),
                                     [](const Field& field) { return field.pointer == "/target"; });
    const std::string path =
        target == fields.end() ? input.http.target : wire::json_token_text(target->value);
    out.point = combine(out.point, hash_text(route_of(input.http.method, path)));
  } else {
    out.point = combine(combine(out.point, hash_text(command_name(input.command))),
                        hash_text(command_key_pattern(input.command)));
  }
  out.input =
      combine(combine(hash_text(input.to), static_cast<uint64_t>(input.kind)), hash_of(fields));
  return out;
}

std::string site_of(std::span<const std::string> stack) {
  if (stack.empty()) return "";
  return to_hex(stable_kind({}, "", stack)).substr(0, kSiteDigits);
}

Hash128 hash_of_case(const Case& of, const Rules& rules) {
  Hash128 out = combine(hash_text(of.service), hash_of(entry_fields(of.request, rules)));
  for (const Call& call : of.calls) {
    out = combine(out, keys_of(call.input, input_fields(call.input, rules)).input);
    out = combine(out, uint64_t{call.after.size()});
    for (const size_t each : call.after) out = combine(out, uint64_t{each});
  }
  return out;
}

std::string call_text(const CallInput& input) {
  std::string out;
  if (input.kind == Kind::kHttp) {
    out = input.http.method + " " + input.http.target;
  } else if (input.command.is_array()) {
    for (const auto& word : input.command)
      out += (out.empty() ? "" : " ") + wire::bytes_of_text(word).value_or(word.dump());
  }
  return cut(out, kMostCallText) + " of " + input.to;
}

}  // namespace filibuster::cases
