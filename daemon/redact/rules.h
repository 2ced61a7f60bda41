// Rules of the configuration for what is a secret, beside what daemon/redact knows by itself (docs/configuration.md, 'redact').
//
//   auto rules = SecretRules::compile(redact_rules(config_text));
//   const RulesInForce in_force(rules);            // redact() of redact.h follows them, too
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "daemon/redact/redact.h"

namespace filibuster {

// Where a value stands. kAnywhere: in a text of which that is not known.
enum class SecretPlace : uint8_t { kPath, kQuery, kHeader, kBody, kRedis, kAnywhere };
inline constexpr std::array<std::string_view, 5> kSecretPlaces = {"path", "query", "header", "body",
                                                                  "redis"};
inline constexpr std::array<std::string_view, 8> kSecretTypes = {"email", "phone", "iban", "card",
                                                                 "ipv4",  "ipv6",  "uuid", "jwt"};

struct RedactRule {
  // One of these three is there.
  std::string name;  // a glob over names of values; "National-Id" is "national_id"
  std::string type,
      pattern;  // of the values themselves: one of kSecretTypes, or as Expression reads it
  std::vector<SecretPlace> in;  // empty: everywhere
  bool keep = false;            // of a name: its value is no secret
  bool operator==(const RedactRule&) const = default;
};

// As a text in the form of the configuration.
std::string to_config_text(const std::vector<RedactRule>& rules);

class SecretRules {
 public:
  SecretRules();
  ~SecretRules();
  SecretRules(SecretRules&&) noexcept;
  SecretRules& operator=(SecretRules&&) noexcept;
  // Patterns are good (Expression::compile), else they match nothing.
  static std::shared_ptr<const SecretRules> compile(std::vector<RedactRule> rules);

  bool empty() const { return rules_.empty(); }
  // What the first rule with such a name says: true: its value is a secret. nullopt: no rule says anything.
  std::optional<bool> named(std::string_view name, SecretPlace place) const;
  // The text with another one in the place of each value that has the form of a rule.
  std::string replaced(std::string_view text, SecretPlace place, const Replacement& replace) const;
  // May the second text stand in the place of the first one: is it of each form of which the first one is?
  bool fits(std::string_view secret, std::string_view other) const;
  const std::vector<RedactRule>& rules() const { return rules_; }

 private:
  struct Form;
  std::vector<RedactRule> rules_;
  std::vector<Form> forms_;
};

// The rules of all sessions that are under way hold for all that leaves the process: more is redacted then, and never less.
class RulesInForce {
 public:
  explicit RulesInForce(std::shared_ptr<const SecretRules> rules);
  ~RulesInForce();
  RulesInForce(const RulesInForce&) = delete;
  RulesInForce& operator=(const RulesInForce&) = delete;

 private:
  uint64_t number_;
};
// nullptr: there are none.
std::shared_ptr<const SecretRules> rules_in_force();

}  // namespace filibuster
