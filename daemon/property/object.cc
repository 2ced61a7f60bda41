#include "daemon/property/object.h"

#include <algorithm>

#include "core/hash.h"
#include "core/text/nearest.h"
#include "daemon/property/object_kinds.h"

namespace filibuster::property {
namespace {

constexpr size_t kEntryBytes =
    128;  // of a value or a state beside its content, in tables and on the heap

struct Kind {
  std::string_view name;
  MakeObject make;
};
constexpr Kind kKinds[] = {{"register", make_register},
                           {"cas-register", make_cas_register},
                           {"kv", make_kv},
                           {"multi-register", make_multi_register},
                           {"queue", make_queue},
                           {"set", make_set},
                           {"list", make_list},
                           {"bank", make_bank},
                           {"counter", make_counter},
                           {"lock", make_lock}};

}  // namespace

template <typename Value>
uint32_t Values::number_of(Value&& value) {
  const auto next = static_cast<uint32_t>(values_.size());
  if (value.is_string()) {
    const auto found = texts_.find(value.template get_ref<const std::string&>());
    if (found != texts_.end()) return found->second;
    values_.push_back(std::forward<Value>(value));
    // JSON has its texts on the heap, where they stay.
    const auto& text = std::as_const(values_.back()).template get_ref<const std::string&>();
    texts_.emplace(text, next);
    bytes_ += kEntryBytes + text.size();
    return next;
  }
  const auto [found, is_new] = others_.emplace(json_text(value), next);
  if (is_new) {
    values_.push_back(std::forward<Value>(value));
    bytes_ += kEntryBytes + 2 * found->first.size();
  }
  return found->second;
}

template uint32_t Values::number_of(const nlohmann::json&);
template uint32_t Values::number_of(nlohmann::json&&);

size_t Values::TextHash::operator()(std::string_view text) const {
  return hash_text(text).lo;
}

const std::vector<std::string_view>& object_names() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> out;
    std::transform(std::begin(kKinds), std::end(kKinds), std::back_inserter(out),
                   [](const Kind& kind) { return kind.name; });
    return out;
  }();
  return names;
}

Result<std::unique_ptr<Object>> make_object(std::string_view name, const nlohmann::json& initial) {
  for (const Kind& kind : kKinds) {
    if (kind.name == name) return kind.make(initial);
  }
  std::string known;
  for (const std::string_view each : object_names())
    known += (known.empty() ? "" : ", ") + std::string(each);
  return Error{"there is no model '" + std::string(name) + "'; expected " + known};
}

linear::Step ObjectModel::step_of(const Call& call) {
  // Answers of unknown calls say nothing.
  const bool known = call.outcome != Outcome::kInfo;
  const std::string all = call.f + '\n' + call.key + '\n' + json_text(call.asked) + '\n' +
                          (known ? json_text(call.answered) : "") + '\n' +
                          std::to_string(static_cast<int>(call.outcome));
  const auto [found, is_new] = step_numbers_.emplace(all, static_cast<linear::Step>(steps_.size()));
  if (is_new) steps_.push_back(&call);
  return found->second;
}

std::optional<linear::State> ObjectModel::next(linear::State from, linear::Step step) {
  std::optional<Words> behind = object_.next(*states_[from], *steps_[step]);
  if (!behind) return std::nullopt;
  return number(std::move(*behind));
}

size_t ObjectModel::WordsHash::operator()(const Words& words) const {
  return hash_bytes(words.data(), words.size() * sizeof(uint32_t)).lo;
}

linear::State ObjectModel::number(Words words) {
  const auto [found, is_new] =
      state_numbers_.emplace(std::move(words), static_cast<linear::State>(states_.size()));
  if (is_new) {
    states_.push_back(&found->first);
    bytes_ += kEntryBytes + found->first.size() * sizeof(uint32_t);
  }
  return found->second;
}

}  // namespace filibuster::property
