#include "daemon/report/variation.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

#include "daemon/redact/redact.h"
#include "daemon/report/words.h"

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

std::vector<std::string> summary_of(const std::vector<Variation>& variations) {
  using Effect = Variation::Effect;
  const auto rows_of = [&](Effect effect) {
    std::vector<const Variation*> out;
    for (const Variation& one : variations) {
      if (one.effect == effect && !one.comes_and_goes) out.push_back(&one);
    }
    return out;
  };
  const auto calls_of = [](const std::vector<const Variation*>& rows) {
    std::set<std::string> calls;
    for (const Variation* one : rows) calls.insert(one->rpc);
    return calls.size();
  };
  const auto examples = [](const std::vector<const Variation*>& rows) {
    std::vector<std::string> texts, rest;
    std::set<std::string> calls;
    for (const Variation* one : rows)
      (calls.insert(one->rpc).second ? texts : rest).push_back(one->rpc + ": " + one->what);
    texts.insert(texts.end(), rest.begin(), rest.end());
    const std::string& under = rows.front()->under;
    return " (" + first_of(texts) + ")" + (under.empty() ? "" : ", under " + under) +
           "; report.json and the page have all of them";
  };
  std::vector<std::string> out;
  if (const auto rows = rows_of(Effect::kMasked); !rows.empty()) {
    out.push_back(counted(rows.size(), "value that varies", "values that vary") +
                  " from run to run " + (rows.size() == 1 ? "takes" : "take") +
                  " no part in telling calls apart, in " +
                  counted(calls_of(rows), "call", "calls") + examples(rows));
  }
  if (const auto rows = rows_of(Effect::kNotFaulted); !rows.empty()) {
    const size_t calls = calls_of(rows);
    out.push_back(counted(calls, "call gets", "calls get") + " no fault, since what varies in " +
                  (calls == 1 ? "it" : "them") + " cannot be left out" + examples(rows));
  }
  if (const auto rows = rows_of(Effect::kStatusAlone); !rows.empty()) {
    const size_t calls = calls_of(rows);
    out.push_back("the answers of " + counted(calls, "call vary", "calls vary") +
                  " as a whole, and count by their statuses alone" + examples(rows));
  }
  return out;
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
