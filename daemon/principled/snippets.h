// Statements of a principled test as text to paste, in the language of the test.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/principled/counts.h"
#include "daemon/principled/key.h"

namespace filibuster::principled {

// A key for calls like this one, so precise. Arguments that are secrets are left out, since no document has them: then the key names
// the other members as `fields`.
struct KeyChoice {
  bool arguments = false, fault = false;
};
nlohmann::json key_json(const SeenCall& seen, KeyChoice choice);
// Are there arguments that a key can have?
bool has_arguments_to_show(const SeenCall& seen);

// How often a dependency is called, for a block of assertions.
struct CountSnippet {
  nlohmann::json key;
  std::optional<uint64_t> times;  // nullopt: read-only
};

// `form`: Program::form(). Keys are as read_key() takes them.
class Snippets {
 public:
  explicit Snippets(std::string form) : form_(std::move(form)) {}

  std::string throws(const std::vector<nlohmann::json>& keys, const std::string& code,
                     const std::string& message) const;
  std::string propagates(const nlohmann::json& key) const;
  std::string no_impact(const nlohmann::json& key) const;
  std::string on_fault(const std::vector<nlohmann::json>& keys) const;
  std::string on_exception(const std::string& code, const std::vector<CountSnippet>& counts) const;
  // A statement of a block on_exception or on_fault.
  std::string again(const CountSnippet& count) const;
  std::string verify(const nlohmann::json& key, uint64_t times) const;
  // `answer` is left for the user to fill in.
  std::string stub(const std::string& service, const nlohmann::json& key) const;

 private:
  std::string call(std::string_view name, const std::string& arguments) const;
  std::string block(const std::string& lines) const;
  std::string key_text(const nlohmann::json& key) const;
  std::string keys_text(const std::vector<nlohmann::json>& keys) const;
  std::string text(const std::string& value) const;  // a literal of the language
  std::string code_text(const std::string& code) const;

  const std::string form_;
};

}  // namespace filibuster::principled
