#include "daemon/redact/rules.h"

#include <arpa/inet.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <utility>
#include <variant>

#include "core/text/glob.h"
#include "daemon/redact/checksums.h"
#include "daemon/redact/expression.h"

namespace filibuster {
namespace {

// "National-Id" is "national_id".
std::string plain_name(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](unsigned char c) {
    return c == '-' ? '_' : static_cast<char>(std::tolower(c));
  });
  return out;
}

bool holds_in(const RedactRule& rule, SecretPlace place) {
  return rule.in.empty() || place == SecretPlace::kAnywhere ||
         std::find(rule.in.begin(), rule.in.end(), place) != rule.in.end();
}

bool is_right_iban(std::string_view text) {
  std::string number(text);
  std::erase(number, ' ');
  return iban_remainder(number) == 1;
}

bool is_ipv4(std::string_view text) {
  in_addr ignored{};
  return ::inet_pton(AF_INET, std::string(text).c_str(), &ignored) == 1;
}

bool is_ipv6(std::string_view text) {
  constexpr long kLeastDigits = 4;  // "::" and "::1" say nothing
  in6_addr ignored{};
  return ::inet_pton(AF_INET6, std::string(text).c_str(), &ignored) == 1 &&
         std::count_if(text.begin(), text.end(),
                       [](unsigned char c) { return std::isxdigit(c) != 0; }) >= kLeastDigits;
}

// Cards and web tokens are secrets in any case (secret_forms.cc).
struct TypeRow {
  std::string_view type, pattern;
  bool (*is_right)(std::string_view);  // nullptr: the pattern says it all
};
constexpr TypeRow kTypes[] = {
    {"email",
     R"([A-Za-z0-9][A-Za-z0-9._%+-]{0,63}@([A-Za-z0-9][A-Za-z0-9-]{0,62}\.){1,5}[A-Za-z]{2,24})",
     nullptr},
    {"phone", R"(\+[1-9]([ .()/-]{0,2}[0-9]){7,14})", nullptr},
    {"iban", R"([A-Z]{2}[0-9]{2}( ?[A-Z0-9]){11,30})", is_right_iban},
    {"ipv4", R"([0-9]{1,3}(\.[0-9]{1,3}){3})", is_ipv4},
    {"ipv6", R"([0-9A-Fa-f:]{2,39})", is_ipv6},
    {"uuid", R"([0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12})", nullptr},
};

bool is_of_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

}  // namespace

struct SecretRules::Form {
  RedactRule rule;
  Expression pattern;
  bool (*is_right)(std::string_view) = nullptr;
  bool whole_words = false;

  // The end of what is of this form and begins at `at`; `at`: nothing is.
  size_t end(std::string_view text, size_t at) const {
    if (whole_words && at > 0 && (is_of_word(text[at - 1]) || text[at - 1] == '.')) return at;
    size_t limit = text.size();
    while (const auto found = pattern.end(text, at, limit)) {
      const size_t end = *found;
      limit = end - 1;
      const bool in_word = end < text.size() && (is_of_word(text[end]) || text[end] == ':');
      const bool in_number = end + 1 < text.size() && text[end] == '.' && is_of_word(text[end + 1]);
      if (whole_words && (in_word || in_number)) continue;
      if (is_right == nullptr || is_right(text.substr(at, end - at))) return end;
    }
    return at;
  }
};

SecretRules::SecretRules() = default;
SecretRules::~SecretRules() = default;
SecretRules::SecretRules(SecretRules&&) noexcept = default;
SecretRules& SecretRules::operator=(SecretRules&&) noexcept = default;

std::string to_config_text(const std::vector<RedactRule>& rules) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (const RedactRule& rule : rules) {
    nlohmann::ordered_json row = nlohmann::ordered_json::object();
    if (!rule.name.empty()) row["name"] = rule.name;
    if (!rule.type.empty()) row["type"] = rule.type;
    if (!rule.pattern.empty()) row["pattern"] = rule.pattern;
    for (const SecretPlace place : rule.in)
      row["in"].push_back(kSecretPlaces[static_cast<size_t>(place)]);
    if (rule.keep) row["keep"] = true;
    out.push_back(std::move(row));
  }
  return out.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::shared_ptr<const SecretRules> SecretRules::compile(std::vector<RedactRule> rules) {
  auto out = std::make_shared<SecretRules>();
  for (RedactRule& rule : rules) {
    rule.name = plain_name(rule.name);
    const auto* type = std::find_if(std::begin(kTypes), std::end(kTypes),
                                    [&](const TypeRow& row) { return row.type == rule.type; });
    const bool is_type = type != std::end(kTypes);
    auto pattern = Expression::compile(is_type ? type->pattern : std::string_view(rule.pattern));
    if (rule.name.empty() && std::holds_alternative<Expression>(pattern))
      out->forms_.push_back({rule, std::get<Expression>(std::move(pattern)),
                             is_type ? type->is_right : nullptr, is_type});
    out->rules_.push_back(std::move(rule));
  }
  return out;
}

std::optional<bool> SecretRules::named(std::string_view name, SecretPlace place) const {
  if (rules_.empty()) return std::nullopt;
  const std::string plain = plain_name(name);
  for (const RedactRule& rule : rules_) {
    if (!rule.name.empty() && holds_in(rule, place) && glob_match(rule.name, plain))
      return !rule.keep;
  }
  return std::nullopt;
}

std::string SecretRules::replaced(std::string_view text, SecretPlace place,
                                  const Replacement& replace) const {
  if (forms_.empty()) return std::string(text);
  std::string out;
  std::vector<size_t> next(forms_.size());  // where the next match of each may begin
  for (size_t at = 0; at < text.size();) {
    size_t end = at, nearest = text.size();
    for (size_t i = 0; i < forms_.size() && end == at; ++i) {
      const Form& form = forms_[i];
      if (!holds_in(form.rule, place)) continue;
      if (next[i] <= at) next[i] = form.pattern.next(text, at);
      if (next[i] == at) {
        end = form.end(text, at);
        next[i] = at + 1;
      }
      nearest = std::min(nearest, next[i]);
    }
    if (end == at) {
      out += text.substr(at, nearest - at);
      at = nearest;
      continue;
    }
    out += replace(text.substr(at, end - at));
    at = end;
  }
  return out;
}

bool SecretRules::fits(std::string_view secret, std::string_view other) const {
  return std::all_of(forms_.begin(), forms_.end(), [&](const Form& form) {
    return form.end(secret, 0) != secret.size() || form.end(other, 0) == other.size();
  });
}

namespace {

struct InForce {
  std::mutex mutex;  // guards both
  uint64_t last = 0;
  std::map<uint64_t, std::vector<RedactRule>> by_number;
  std::atomic<std::shared_ptr<const SecretRules>> all;
  std::atomic<bool> any = false;

  void changed() {
    std::vector<RedactRule> rules;
    for (const auto& [number, each] : by_number)
      rules.insert(rules.end(), each.begin(), each.end());
    // What one session keeps may be a secret of another one.
    if (by_number.size() > 1) std::erase_if(rules, [](const auto& rule) { return rule.keep; });
    any = !rules.empty();
    all = rules.empty() ? nullptr : SecretRules::compile(std::move(rules));
  }
};

InForce& in_force() {
  static InForce out;
  return out;
}

}  // namespace

RulesInForce::RulesInForce(std::shared_ptr<const SecretRules> rules) : number_(0) {
  if (rules == nullptr) return;
  InForce& all = in_force();
  const std::lock_guard lock(all.mutex);
  number_ = ++all.last;
  all.by_number[number_] = rules->rules();
  all.changed();
}

RulesInForce::~RulesInForce() {
  if (number_ == 0) return;
  InForce& all = in_force();
  const std::lock_guard lock(all.mutex);
  all.by_number.erase(number_);
  all.changed();
}

std::shared_ptr<const SecretRules> rules_in_force() {
  InForce& all = in_force();
  return all.any ? all.all.load() : nullptr;
}

}  // namespace filibuster
