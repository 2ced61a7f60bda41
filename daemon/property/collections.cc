// Objects that hold many values: a queue, a set, a list. A state has the numbers of the values, those of a set in order.
#include <algorithm>

#include "daemon/property/object_kinds.h"

namespace filibuster::property {
namespace {

using Json = nlohmann::json;

class Collection : public Object {
 public:
  explicit Collection(const Json& initial) : initial_(initial) {}
  Words initial() override { return initial_.is_array() ? numbers(initial_) : Words(); }
  size_t bytes() const override { return values_.bytes(); }
  Json state(const Words& words) const override {
    Json out = Json::array();
    for (const uint32_t word : words) out.push_back(values_.at(word));
    return out;
  }

 protected:
  // Of the values of an array.
  Words numbers(const Json& array) {
    Words out;
    for (const Json& each : array) out.push_back(values_.number(each));
    return out;
  }
  Values& values() { return values_; }

 private:
  const Json initial_;
  Values values_;
};

class Queue final : public Collection {
 public:
  using Collection::Collection;
  Result<void> accepts(const Call& call) const override {
    if (call.f == "enqueue" || call.f == "dequeue") return {};
    return Error{"'" + call.f + "': expected enqueue or dequeue"};
  }
  bool only_reads(const Call& call) const override {
    return call.f == "dequeue" && call.outcome == Outcome::kOk && call.answered.is_null();
  }
  std::optional<Words> next(const Words& from, const Call& call) override {
    Words out = from;
    if (call.f == "enqueue") {
      out.push_back(values().number(call.asked));
      return out;
    }
    const bool known = call.outcome == Outcome::kOk;
    if (from.empty()) return known && !call.answered.is_null() ? std::nullopt : std::optional(from);
    if (known && values().number(call.answered) != from[0]) return std::nullopt;
    out.erase(out.begin());
    return out;
  }
};

class Set final : public Collection {
 public:
  explicit Set(const Json& initial) : Collection(initial) {}
  Result<void> accepts(const Call& call) const override {
    if (call.f == "read" && call.outcome == Outcome::kOk && !call.answered.is_array())
      return Error{"read: expected an array of all values as its answer"};
    if (call.f == "add" || call.f == "remove" || call.f == "contains" || call.f == "read")
      return {};
    return Error{"'" + call.f + "': expected add, remove, contains or read"};
  }
  bool only_reads(const Call& call) const override {
    return call.f == "read" || call.f == "contains";
  }
  Words initial() override { return sorted(Collection::initial()); }
  std::optional<Words> next(const Words& from, const Call& call) override {
    const bool known = call.outcome == Outcome::kOk;
    if (call.f == "read") {
      if (known && sorted(numbers(call.answered)) != from) return std::nullopt;
      return from;
    }
    const uint32_t value = values().number(call.asked);
    const auto at = std::lower_bound(from.begin(), from.end(), value);
    const bool is_in = at != from.end() && *at == value;
    if (call.f == "contains") {
      if (known && call.answered != Json(is_in)) return std::nullopt;
      return from;
    }
    Words out = from;
    if (call.f == "add" && !is_in) out.insert(out.begin() + (at - from.begin()), value);
    if (call.f == "remove" && is_in) out.erase(out.begin() + (at - from.begin()));
    return out;
  }

 private:
  static Words sorted(Words words) {
    std::sort(words.begin(), words.end());
    words.erase(std::unique(words.begin(), words.end()), words.end());
    return words;
  }
};

class List final : public Collection {
 public:
  using Collection::Collection;
  Result<void> accepts(const Call& call) const override {
    if (call.f == "read" && call.outcome == Outcome::kOk && !call.answered.is_array())
      return Error{"read: expected an array of all values as its answer"};
    if (call.f == "append" || call.f == "read") return {};
    return Error{"'" + call.f + "': expected append or read"};
  }
  bool only_reads(const Call& call) const override { return call.f == "read"; }
  std::optional<Words> next(const Words& from, const Call& call) override {
    if (call.f == "read") {
      if (call.outcome == Outcome::kOk && numbers(call.answered) != from) return std::nullopt;
      return from;
    }
    Words out = from;
    out.push_back(values().number(call.asked));
    return out;
  }
};

template <typename Kind>
Result<std::unique_ptr<Object>> make(const Json& initial) {
  if (!initial.is_null() && !initial.is_array()) return Error{"expected an array of values"};
  return std::unique_ptr<Object>(std::make_unique<Kind>(initial));
}

}  // namespace

Result<std::unique_ptr<Object>> make_queue(const Json& initial) {
  return make<Queue>(initial);
}
Result<std::unique_ptr<Object>> make_set(const Json& initial) {
  return make<Set>(initial);
}
Result<std::unique_ptr<Object>> make_list(const Json& initial) {
  return make<List>(initial);
}

}  // namespace filibuster::property
