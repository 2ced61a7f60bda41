#include "daemon/report/variation.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "daemon/redact/redact.h"

namespace filibuster {
namespace {

using PlainJson = nlohmann::json;

constexpr std::string_view kEffects[] = {"none", "masked", "not faulted",
                                         "the answer counts by its status alone",
                                         "faulted where it comes"};
static_assert(std::size(kEffects) == static_cast<size_t>(Variation::Effect::kCount));

}  // namespace

std::string_view effect_text(Variation::Effect effect) {
  return kEffects[static_cast<size_t>(effect)];
}

std::string to_line(const Variation& variation) {
  const bool said = variation.reason.empty() || variation.reason == variation.what;
  return variation.rpc + ": " + variation.what + (variation.comes_and_goes ? ", " : " varies, ") +
         std::string(effect_text(variation.effect)) + (said ? "" : " (" + variation.reason + ")") +
         (variation.under.empty() ? "" : " under " + variation.under);
}

std::string to_json(const std::vector<Variation>& variations) {
  PlainJson out = PlainJson::array();
  for (const Variation& v : variations)
    out.push_back({v.rpc, v.what, effect_text(v.effect), v.reason, v.under, v.comes_and_goes});
  redact_texts(&out);
  return out.dump(-1, ' ', false, PlainJson::error_handler_t::replace);
}

std::vector<Variation> variations_from(const std::string& text) {
  std::vector<Variation> out;
  const PlainJson json = PlainJson::parse(text, nullptr, false);
  if (!json.is_array()) return out;
  for (const PlainJson& row : json) {
    if (!row.is_array() || row.size() != 6 || !row[5].is_boolean()) continue;
    const auto at = [&](size_t i) { return row[i].is_string() ? row[i].get<std::string>() : ""; };
    const auto effect = std::find(std::begin(kEffects), std::end(kEffects), at(2));
    if (effect == std::end(kEffects)) continue;
    out.push_back({at(0), at(1), static_cast<Variation::Effect>(effect - std::begin(kEffects)),
                   at(3), at(4), row[5].get<bool>()});
  }
  return out;
}

}  // namespace filibuster
