// Objects of numbers: a counter, the accounts of a bank, and a lock, which is free or not.
#include <algorithm>

#include "daemon/property/object_kinds.h"

namespace filibuster::property {
namespace {

using Json = nlohmann::json;

// A whole number in two words.
void append(int64_t value, Words* out) {
  out->push_back(static_cast<uint32_t>(static_cast<uint64_t>(value) >> 32));
  out->push_back(static_cast<uint32_t>(value));
}
int64_t number_at(const Words& words, size_t place) {
  return static_cast<int64_t>(uint64_t{words[2 * place]} << 32 | words[2 * place + 1]);
}
// Overflow goes round, as it does in most services.
int64_t sum(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
int64_t difference(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}
Words counted(int64_t value) {
  Words out;
  append(value, &out);
  return out;
}

class Counter final : public Object {
 public:
  explicit Counter(int64_t initial) : initial_(initial) {}
  Result<void> accepts(const Call& call) const override {
    if (call.f == "read") return {};
    if (call.f != "add" && call.f != "add_and_get")
      return Error{"'" + call.f + "': expected add, add_and_get or read"};
    if (call.asked.is_null() || whole_number(call.asked)) return {};
    return Error{call.f + ": expected a whole number"};
  }
  bool only_reads(const Call& call) const override { return call.f == "read"; }
  Words initial() override { return counted(initial_); }
  std::optional<Words> next(const Words& from, const Call& call) override {
    const int64_t before = number_at(from, 0);
    const bool known = call.outcome == Outcome::kOk;
    if (call.f == "read") {
      if (known && call.answered != Json(before)) return std::nullopt;
      return from;
    }
    const int64_t behind = sum(before, call.asked.is_null() ? 1 : call.asked.get<int64_t>());
    if (known && call.f == "add_and_get" && call.answered != Json(behind)) return std::nullopt;
    return counted(behind);
  }
  Json state(const Words& words) const override { return number_at(words, 0); }

 private:
  const int64_t initial_;
};

// Accounts stand in the order of their names.
class Bank final : public Object {
 public:
  explicit Bank(const Json& initial) {
    for (const auto& [name, balance] : initial.items()) {
      names_.push_back(name);
      append(balance.get<int64_t>(), &initial_);
    }
  }
  Result<void> accepts(const Call& call) const override {
    if (call.f == "read") {
      if (call.outcome == Outcome::kOk && !call.answered.is_object())
        return Error{"read: expected an object of balances by account as its answer"};
      return {};
    }
    if (call.f != "transfer") return Error{"'" + call.f + "': expected transfer or read"};
    const bool whole = call.asked.is_object() && call.asked.contains("from") &&
                       call.asked.contains("to") && call.asked.contains("amount") &&
                       whole_number(call.asked["amount"]).has_value();
    if (!whole) return Error{R"(transfer: expected {"from", "to", "amount"})"};
    for (const char* side : {"from", "to"}) {
      const std::string name = text(call.asked[side]);
      if (place_of(name) == names_.size()) return Error{"there is no account '" + name + "'"};
    }
    return {};
  }
  bool only_reads(const Call& call) const override { return call.f == "read" || is_refused(call); }
  Words initial() override { return initial_; }
  std::optional<Words> next(const Words& from, const Call& call) override {
    if (call.f == "read") {
      if (call.outcome == Outcome::kOk && call.answered != state(from)) return std::nullopt;
      return from;
    }
    const size_t payer = place_of(text(call.asked["from"])),
                 payee = place_of(text(call.asked["to"]));
    const auto amount = call.asked["amount"].get<int64_t>();
    const bool suffices = number_at(from, payer) >= amount;
    if (call.outcome == Outcome::kInfo && !suffices) return from;
    if (suffices == is_refused(call)) return std::nullopt;
    if (!suffices) return from;
    Words out;
    for (size_t i = 0; i < names_.size(); ++i) {
      int64_t balance = number_at(from, i);
      if (i == payer) balance = difference(balance, amount);
      if (i == payee) balance = sum(balance, amount);
      append(balance, &out);
    }
    return out;
  }
  Json state(const Words& words) const override {
    Json out = Json::object();
    for (size_t i = 0; i < names_.size(); ++i) out[names_[i]] = number_at(words, i);
    return out;
  }

 private:
  static bool is_refused(const Call& call) {
    return call.f == "transfer" && call.outcome == Outcome::kOk && call.answered == Json(false);
  }
  static std::string text(const Json& name) {
    return name.is_string() ? name.get<std::string>() : json_text(name);
  }
  size_t place_of(const std::string& name) const {
    return static_cast<size_t>(std::find(names_.begin(), names_.end(), name) - names_.begin());
  }

  std::vector<std::string> names_;
  Words initial_;
};

// One word: 1 where it is held.
class Lock final : public Object {
 public:
  Result<void> accepts(const Call& call) const override {
    if (call.f == "acquire" || call.f == "release") return {};
    return Error{"'" + call.f + "': expected acquire or release"};
  }
  bool only_reads(const Call&) const override { return false; }
  Words initial() override { return {0}; }
  std::optional<Words> next(const Words& from, const Call& call) override {
    const uint32_t needed = call.f == "acquire" ? 0 : 1;
    if (from[0] != needed) return std::nullopt;
    return Words{1 - needed};
  }
  Json state(const Words& words) const override { return words[0] == 0 ? "free" : "held"; }
};

}  // namespace

Result<std::unique_ptr<Object>> make_counter(const Json& initial) {
  if (!initial.is_null() && !whole_number(initial)) return Error{"expected a whole number"};
  return std::unique_ptr<Object>(
      std::make_unique<Counter>(initial.is_null() ? 0 : initial.get<int64_t>()));
}

Result<std::unique_ptr<Object>> make_bank(const Json& initial) {
  const bool whole = initial.is_object() && !initial.empty() &&
                     std::all_of(initial.begin(), initial.end(), [](const Json& balance) {
                       return whole_number(balance).has_value();
                     });
  if (!whole)
    return Error{R"(expected the balances before the first call: {"ACCOUNT": NUMBER, ...})"};
  return std::unique_ptr<Object>(std::make_unique<Bank>(initial));
}

Result<std::unique_ptr<Object>> make_lock(const Json& initial) {
  if (!initial.is_null()) return Error{"a lock begins free; expected no other state"};
  return std::unique_ptr<Object>(std::make_unique<Lock>());
}

}  // namespace filibuster::property
