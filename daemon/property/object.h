// What an object of some kind may do, as its history's calls are checked against it: the built-in kinds (make_object), or a program of
// the user's (program_object.h).
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/linear/history.h"
#include "core/result.h"
#include "daemon/property/history.h"

namespace filibuster::property {

// Values by number: equal values have one number.
class Values {
 public:
  uint32_t number(const nlohmann::json& value) { return number_of(value); }
  uint32_t number(nlohmann::json&& value) { return number_of(std::move(value)); }
  const nlohmann::json& at(uint32_t number) const { return values_[number]; }
  size_t bytes() const { return bytes_; }  // about

 private:
  // Kept is a copy, or the value itself.
  template <typename Value>
  uint32_t number_of(Value&& value);
  struct TextHash {
    size_t operator()(std::string_view text) const;
  };

  std::vector<nlohmann::json> values_;
  std::unordered_map<std::string_view, uint32_t, TextHash>
      texts_;  // of values_ that are texts; long ones stand there alone
  std::unordered_map<std::string, uint32_t> others_;  // by the value in JSON
  size_t bytes_ = 0;
};

// A state: what its words mean is the object's own. Equal words are equal states.
using Words = std::vector<uint32_t>;

class Object {
 public:
  virtual ~Object() = default;
  // Error: the call is none of this object; "expected ...".
  virtual Result<void> accepts(const Call& call) const = 0;
  // Does a call leave the state as it is, whatever the state and the answer are?
  virtual bool only_reads(const Call& call) const = 0;
  // Is `key` of a call the name of an object of its own?
  virtual bool has_keys() const { return false; }
  virtual Words initial() = 0;
  // The state behind a call that did not fail; nullopt: it cannot have had this answer in this state. The outcome kInfo: any answer will do. Pure.
  virtual std::optional<Words> next(const Words& from, const Call& call) = 0;
  // The state as people write it.
  virtual nlohmann::json state(const Words& words) const = 0;
  // About what it keeps of the values of states.
  virtual size_t bytes() const { return 0; }
  // Why next() cannot be believed any more; "": it can. A program may have died.
  virtual std::string problem() const { return ""; }
};

// The names of the built-in kinds: register, cas-register, kv, multi-register, queue, set, list, bank, counter, lock.
const std::vector<std::string_view>& object_names();
// `initial`: the state before the first call; null: that of the kind. Error: there is no such kind, or it has no such state.
Result<std::unique_ptr<Object>> make_object(std::string_view name, const nlohmann::json& initial);

// Calls of an object as steps of the checker (core/linear/history.h).
class ObjectModel final : public linear::Model {
 public:
  // `object` must outlive the model, and so must the calls.
  explicit ObjectModel(Object* object) : object_(*object) {}
  linear::Step step_of(const Call& call);
  linear::State initial() override { return number(object_.initial()); }
  std::optional<linear::State> next(linear::State from, linear::Step step) override;
  bool only_reads(linear::Step step) override { return object_.only_reads(*steps_[step]); }
  size_t bytes() const override { return bytes_ + object_.bytes(); }
  nlohmann::json state(linear::State number) const { return object_.state(*states_[number]); }

 private:
  struct WordsHash {
    size_t operator()(const Words& words) const;
  };
  linear::State number(Words words);

  Object& object_;
  std::vector<const Call*> steps_;  // one that stands for all that are equal
  std::unordered_map<std::string, linear::Step> step_numbers_;
  std::unordered_map<Words, linear::State, WordsHash> state_numbers_;
  std::vector<const Words*> states_;  // by number, within state_numbers_
  size_t bytes_ = 0;                  // of states_
};

}  // namespace filibuster::property
