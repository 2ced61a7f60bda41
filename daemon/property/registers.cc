// Registers, alone and by key.
#include <algorithm>
#include <unordered_map>

#include "daemon/property/object_kinds.h"

namespace filibuster::property {
namespace {

using Json = nlohmann::json;

bool is_pair(const Json& value) {
  return value.is_array() && value.size() == 2;
}

Error none_of(const Call& call, const std::string& known) {
  return Error{"'" + call.f + "': expected " + known};
}

class Register final : public Object {
 public:
  Register(const Json& initial, bool has_cas) : has_cas_(has_cas), initial_(initial) {}

  Result<void> accepts(const Call& call) const override {
    if (call.f == "read" || call.f == "write") return {};
    if (!has_cas_) return none_of(call, "read or write");
    if (call.f != "cas") return none_of(call, "read, write or cas");
    if (!is_pair(call.asked)) return Error{"cas: expected the value [OLD, NEW]"};
    return {};
  }
  bool only_reads(const Call& call) const override {
    return call.f == "read" || (call.f == "cas" && is_refused(call));
  }
  Words initial() override { return {values_.number(initial_)}; }
  std::optional<Words> next(const Words& from, const Call& call) override {
    if (call.f == "write") return Words{values_.number(call.asked)};
    if (call.f == "read") {
      if (call.outcome == Outcome::kOk && values_.number(call.answered) != from[0])
        return std::nullopt;
      return from;
    }
    const bool fits = values_.number(call.asked[0]) == from[0];
    if (call.outcome == Outcome::kInfo) return fits ? Words{values_.number(call.asked[1])} : from;
    if (fits == is_refused(call)) return std::nullopt;
    return fits ? Words{values_.number(call.asked[1])} : from;
  }
  size_t bytes() const override { return values_.bytes(); }
  Json state(const Words& words) const override { return values_.at(words[0]); }

 private:
  static bool is_refused(const Call& call) {
    return call.outcome == Outcome::kOk && call.answered == Json(false);
  }

  const bool has_cas_;
  const Json initial_;
  Values values_;
};

// A state: pairs of a key and its value, by key. What is not there has no pair.
class Cells : public Object {
 public:
  explicit Cells(const Json& initial) : initial_(initial) {}

  Words initial() override {
    Words out;
    if (!initial_.is_object()) return out;
    for (const auto& [key, value] : initial_.items()) out = with(out, number_of(key), value);
    return out;
  }
  size_t bytes() const override { return values_.bytes(); }
  Json state(const Words& words) const override {
    Json out = Json::object();
    for (size_t i = 0; i < words.size(); i += 2) out[keys_[words[i]]] = values_.at(words[i + 1]);
    return out;
  }

 protected:
  uint32_t number_of(const std::string& key) {
    const auto [found, is_new] = numbers_.emplace(key, static_cast<uint32_t>(keys_.size()));
    if (is_new) keys_.push_back(key);
    return found->second;
  }
  // Until with() is called.
  const Json& value_of(const Words& words, uint32_t key) const {
    static const Json kNothing;
    const size_t at = place_of(words, key);
    return at < words.size() && words[at] == key ? values_.at(words[at + 1]) : kNothing;
  }
  Words with(const Words& words, uint32_t key, Json value) {
    Words out = words;
    const size_t at = place_of(out, key);
    if (at >= out.size() || out[at] != key)
      out.insert(out.begin() + static_cast<std::ptrdiff_t>(at), {key, 0});
    out[at + 1] = values_.number(std::move(value));
    return out;
  }
  static Words without(const Words& words, uint32_t key) {
    Words out = words;
    const auto at = static_cast<std::ptrdiff_t>(place_of(out, key));
    if (at < static_cast<std::ptrdiff_t>(out.size()) && out[static_cast<size_t>(at)] == key)
      out.erase(out.begin() + at, out.begin() + at + 2);
    return out;
  }

 private:
  static size_t place_of(const Words& words, uint32_t key) {
    size_t at = 0;
    while (at < words.size() && words[at] < key) at += 2;
    return at;
  }

  const Json initial_;
  std::vector<std::string> keys_;  // by number
  std::unordered_map<std::string, uint32_t> numbers_;
  Values values_;
};

class Kv final : public Cells {
 public:
  using Cells::Cells;
  Result<void> accepts(const Call& call) const override {
    static const char* const known[] = {"get", "read", "put", "write", "append", "delete", "cas"};
    if (std::none_of(std::begin(known), std::end(known),
                     [&](const char* each) { return call.f == each; }))
      return none_of(call, "get, read, put, write, append, delete or cas");
    if (!call.has_key) return Error{call.f + ": expected 'key', which says whose value is meant"};
    if (call.f == "append" && !call.asked.is_string()) return Error{"append: expected a text"};
    if (call.f == "cas" && !is_pair(call.asked)) return Error{"cas: expected the value [OLD, NEW]"};
    return {};
  }
  bool only_reads(const Call& call) const override { return call.f == "get" || call.f == "read"; }
  bool has_keys() const override { return true; }
  std::optional<Words> next(const Words& from, const Call& call) override {
    const uint32_t key = number_of(call.key);
    const Json& before = value_of(from, key);
    if (only_reads(call)) {
      const bool fits = before.is_null() ? is_nothing(call.answered) : before == call.answered;
      if (call.outcome == Outcome::kOk && !fits) return std::nullopt;
      return from;
    }
    if (call.f == "delete") return without(from, key);
    if (call.f == "append")
      return with(from, key, appended(before, call.asked.get_ref<const std::string&>()));
    if (call.f != "cas") return with(from, key, call.asked);
    const bool fits = before == call.asked[0];
    const bool refused = call.answered == Json(false);
    if (call.outcome != Outcome::kInfo && fits == refused) return std::nullopt;
    return fits ? with(from, key, call.asked[1]) : from;
  }

 private:
  static Json appended(const Json& before, const std::string& more) {
    std::string out;
    if (before.is_string()) {
      const auto& text = before.get_ref<const std::string&>();
      out.reserve(text.size() + more.size());
      out = text;
    }
    return out += more;
  }
  static bool is_nothing(const Json& value) {
    return value.is_null() || (value.is_string() && value.get_ref<const std::string&>().empty());
  }
};

class MultiRegister final : public Cells {
 public:
  using Cells::Cells;
  Result<void> accepts(const Call& call) const override {
    if (call.f != "txn") return none_of(call, "txn");
    if (!is_transaction(call.asked))
      return Error{R"(txn: expected [["read", KEY, null], ["write", KEY, VALUE], ...])"};
    if (call.outcome == Outcome::kOk &&
        (!is_transaction(call.answered) || call.answered.size() != call.asked.size()))
      return Error{"txn: expected as its answer the same array, with what was read"};
    return {};
  }
  bool only_reads(const Call& call) const override {
    return std::all_of(call.asked.begin(), call.asked.end(), is_read);
  }
  std::optional<Words> next(const Words& from, const Call& call) override {
    Words out = from;
    for (size_t i = 0; i < call.asked.size(); ++i) {
      const Json& part = call.asked[i];
      const uint32_t key =
          number_of(part[1].is_string() ? part[1].get<std::string>() : json_text(part[1]));
      if (!is_read(part)) {
        out = with(out, key, part[2]);
      } else if (call.outcome == Outcome::kOk && call.answered[i][2] != value_of(out, key)) {
        return std::nullopt;
      }
    }
    return out;
  }

 private:
  static bool is_read(const Json& part) { return part[0] == "read"; }
  static bool is_transaction(const Json& value) {
    return value.is_array() && std::all_of(value.begin(), value.end(), [](const Json& part) {
             return part.is_array() && part.size() == 3 &&
                    (part[0] == "read" || part[0] == "write");
           });
  }
};

Result<std::unique_ptr<Object>> make_cells(bool as_one, const Json& initial) {
  if (!initial.is_null() && !initial.is_object())
    return Error{"expected an object of values by key"};
  if (as_one) return std::unique_ptr<Object>(std::make_unique<MultiRegister>(initial));
  return std::unique_ptr<Object>(std::make_unique<Kv>(initial));
}

}  // namespace

Result<std::unique_ptr<Object>> make_register(const Json& initial) {
  return std::unique_ptr<Object>(std::make_unique<Register>(initial, false));
}

Result<std::unique_ptr<Object>> make_cas_register(const Json& initial) {
  return std::unique_ptr<Object>(std::make_unique<Register>(initial, true));
}

Result<std::unique_ptr<Object>> make_kv(const Json& initial) {
  return make_cells(false, initial);
}

Result<std::unique_ptr<Object>> make_multi_register(const Json& initial) {
  return make_cells(true, initial);
}

}  // namespace filibuster::property
