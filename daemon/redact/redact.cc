// Recognises secrets by the name before them.
#include "daemon/redact/redact.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <nlohmann/json.hpp>
#include <vector>

#include "daemon/redact/rules.h"

namespace filibuster {
namespace {

// The value of a header reaches to the end of its line or of its quotes.
constexpr std::array<std::string_view, 5> kHeaders = {"authorization", "proxyauthorization",
                                                      "cookie", "setcookie", "xapikey"};
// A name that contains one of these has a secret value: access_token, client-secret, apiKey.
constexpr std::array<std::string_view, 17> kSecrets = {
    "token",      "password",   "passwd",     "secret",     "apikey",        "credential",
    "passphrase", "passcode",   "privatekey", "accesskey",  "sessid",        "sessionid",
    "signingkey", "creditcard", "cardnumber", "cardholder", "socialsecurity"};
// These are also words of prose and names of services. They count only between quotes, as in JSON, and
// directly before '='.
constexpr std::array<std::string_view, 12> kWords = {
    "auth", "session", "sid", "sig", "signature", "jwt", "pwd", "pin", "otp", "cvv", "cvc", "pass"};
// These names are so short that longer ones contain them: "className".
constexpr std::array<std::string_view, 2> kWholeSecrets = {"ssn", "iban"};
// These are also words of ordinary answers. They count only in a query or a form.
constexpr std::array<std::string_view, 2> kArguments = {"key", "code"};
// Words in the name of a variable or an option with a secret value: STRIPE_KEY, --db-pass. A name that
// ends with one of `kPlaces` says where something is or how it is used, and its value is no secret.
constexpr std::array<std::string_view, 14> kVariableWords = {
    "key", "auth",      "pass", "pwd", "pin", "session", "cookie",
    "sig", "signature", "salt", "jwt", "dsn", "creds",   "signing"};
constexpr std::array<std::string_view, 12> kPlaces = {"url",     "uri",     "host",     "port",
                                                      "addr",    "address", "endpoint", "ttl",
                                                      "timeout", "enabled", "name",     "file"};

bool is_name_char(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-';
}
bool is_quote(char c) {
  return c == '"' || c == '\'';
}

enum class Kind { kPlain, kHeader, kSecret, kWord, kArgument };

template <size_t size>
bool is_one_of(const std::array<std::string_view, size>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Case, '-' and '_' do not matter.
Kind own_kind_of(std::string_view name) {
  std::string plain;
  for (char c : name) {
    if (c != '-' && c != '_') {
      plain += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
  }
  if (is_one_of(kHeaders, plain)) return Kind::kHeader;
  for (std::string_view secret : kSecrets) {
    if (plain.find(secret) != std::string::npos) return Kind::kSecret;
  }
  if (is_one_of(kWholeSecrets, plain)) return Kind::kSecret;
  if (is_one_of(kWords, plain) || plain.ends_with("signature")) return Kind::kWord;
  return is_one_of(kArguments, plain) ? Kind::kArgument : Kind::kPlain;
}

// What a rule says comes first.
Kind kind_of(std::string_view name) {
  if (const auto rules = rules_in_force()) {
    if (const auto said = rules->named(name, SecretPlace::kAnywhere))
      return *said ? Kind::kSecret : Kind::kPlain;
  }
  return own_kind_of(name);
}

// "$TOKEN", "${TOKEN}", "$(cat token)": such a value says where the secret is and does not contain it.
bool is_reference(std::string_view value) {
  if (value.size() < 2 || value[0] != '$') return false;
  return value[1] == '{' || value[1] == '(' ||
         std::all_of(value.begin() + 1, value.end(), [](char c) {
           return std::isupper(static_cast<unsigned char>(c)) != 0 || c == '_';
         });
}

size_t skip(std::string_view text, size_t at, char c) {
  while (at < text.size() && text[at] == c) ++at;
  return at;
}

// The quote at `at` with the backslashes before it: the text may be quoted itself, as in \"token\".
std::string_view quote_at(std::string_view text, size_t at) {
  const size_t quote = skip(text, at, '\\');
  if (quote == text.size() || !is_quote(text[quote])) return {};
  return text.substr(at, quote - at + 1);
}

// Where a value opened by `quote` ends: at the same quote with exactly as many backslashes.
size_t end_of_quoted(std::string_view text, size_t at, std::string_view quote) {
  size_t backslashes = 0;
  for (; at < text.size(); ++at) {
    if (text[at] == '\n') return at;
    if (text[at] == quote.back() && backslashes == quote.size() - 1) return at - backslashes;
    backslashes = text[at] == '\\' ? backslashes + 1 : 0;
  }
  return at;
}

size_t end_of_value(std::string_view text, size_t at, Kind kind) {
  constexpr std::string_view kHeaderEnds = "\r\n\"'";
  constexpr std::string_view kSecretEnds = " \t\r\n&\"'`,;)}]>#\\";
  const size_t end = text.find_first_of(kind == Kind::kHeader ? kHeaderEnds : kSecretEnds, at);
  return end == std::string_view::npos ? text.size() : end;
}

// "https://user:password@host": [begin, end) of the password, if "://" stands at `at`; else empty.
std::pair<size_t, size_t> password_in_url(std::string_view text, size_t at) {
  if (text.substr(at, 3) != "://") return {at, at};
  const size_t end = std::min(text.find_first_of("/?# \t\r\n\"'", at + 3), text.size());
  const std::string_view authority = text.substr(at + 3, end - at - 3);
  const size_t host = authority.rfind('@');
  const size_t colon = authority.find(':');
  if (host == std::string_view::npos || colon >= host) return {at, at};
  return {at + 3 + colon + 1, at + 3 + host};
}

// In "a -> token: timeout" and "POST /token: status:503" the word before ':' is a service or a path, and
// not the name of a value.
bool is_of_a_call(std::string_view text, size_t begin) {
  const std::string_view before = text.substr(0, begin);
  return before.ends_with('/') || before.ends_with("-> ");
}

// "credential: it makes no call": a word of a sentence, with another one after it, is no value.
bool is_prose(std::string_view text, size_t value) {
  constexpr std::array<std::string_view, 16> kProse = {
      "it",  "its", "is",   "the", "a",   "an",   "this", "that",
      "was", "are", "does", "did", "has", "only", "what", "there"};
  const size_t end = value == text.size() ? value : text.find(' ', value);
  return end != std::string_view::npos && end + 1 < text.size() &&
         std::isalpha(static_cast<unsigned char>(text[end + 1])) != 0 &&
         is_one_of(kProse, text.substr(value, end - value));
}

// "GET token:*", "password-reset:*:mail": the word before ':' belongs to the pattern of a Redis key. The
// pattern has '*' for what varies, so it contains no value.
bool is_of_a_pattern(std::string_view text, size_t end) {
  return text.substr(end).starts_with(":*") &&
         (text.size() == end + 2 || !is_name_char(text[end + 2]));
}

// Does a name of this kind, which ends at `end`, have a secret value here?
bool counts_here(Kind kind, std::string_view text, size_t begin, size_t end, bool quoted) {
  const char before = begin == 0 ? '\0' : text[begin - 1];
  const bool assigned = end < text.size() && text[end] == '=';
  switch (kind) {
    case Kind::kPlain:
      return false;
    case Kind::kHeader:
    case Kind::kSecret:
      return true;
    case Kind::kWord:
      return assigned || (quoted && is_quote(before));
    case Kind::kArgument:
      break;
  }
  // The first field of a form stands at the beginning of the text, and other fields follow.
  const size_t next = text.find_first_of("& \t\r\n\"'", end);
  const bool form = (before == '\0' || before == '\n' || is_quote(before)) &&
                    next != std::string_view::npos && text[next] == '&';
  return assigned && (before == '?' || before == '&' || before == ';' || form);
}

void redact_values(nlohmann::ordered_json* json) {
  for (const auto& [name, value] : json->items()) {
    const Kind kind = json->is_object() ? kind_of(name) : Kind::kPlain;
    if (value.is_structured()) {
      redact_values(&value);
    } else if (kind != Kind::kPlain && kind != Kind::kArgument) {
      value = kRedacted;
    } else if (value.is_string()) {
      value = redact(value.get<std::string>());
    }
  }
}

std::string redact_named(std::string_view text, const Replacement& replace) {
  std::string out;
  out.reserve(text.size());
  size_t at = 0;
  while (at < text.size()) {
    if (const auto [begin, end] = password_in_url(text, at); begin < end) {
      out.append(text.substr(at, begin - at)).append(replace(text.substr(begin, end - begin)));
      at = end;
      continue;
    }
    if (!is_name_char(text[at])) {
      out += text[at++];
      continue;
    }
    const size_t begin = at;
    while (at < text.size() && is_name_char(text[at])) ++at;
    out.append(text.substr(begin, at - begin));
    const size_t name_quote = quote_at(text, at).size();
    size_t value = skip(text, at + name_quote, ' ');
    if (value == text.size() || (text[value] != ':' && text[value] != '=')) continue;
    if (text[value] == ':' && (is_of_a_call(text, begin) || is_of_a_pattern(text, at))) continue;
    const Kind kind = kind_of(text.substr(begin, at - begin));
    if (!counts_here(kind, text, begin, at, name_quote > 0)) continue;
    const bool spaced = text[value] == ':' && text.substr(value + 1).starts_with(' ');
    value = skip(text, value + 1, ' ');
    if (spaced && name_quote == 0 && is_prose(text, value)) continue;
    const std::string_view quote = quote_at(text, value);
    value += quote.size();
    const size_t end =
        quote.empty() ? end_of_value(text, value, kind) : end_of_quoted(text, value, quote);
    // The value is an object or a list: the names inside decide about its parts.
    const bool nested =
        quote.empty() && value < text.size() && (text[value] == '{' || text[value] == '[');
    if (end <= value || nested || is_reference(text.substr(value, end - value))) continue;
    out.append(text.substr(at, value - at)).append(replace(text.substr(value, end - value)));
    at = end;
  }
  return out;
}

// The words of STRIPE_SECRET_KEY, stripe.secret-key or stripeSecretKey, in small letters.
std::vector<std::string> words_of(std::string_view name) {
  std::vector<std::string> out(1);
  bool small_before = false;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    const bool small = std::islower(byte) != 0 || std::isdigit(byte) != 0;
    if (std::isalnum(byte) == 0 || (small_before && !small)) out.emplace_back();
    if (std::isalnum(byte) != 0) out.back() += static_cast<char>(std::tolower(byte));
    small_before = small;
  }
  return out;
}

}  // namespace

bool is_secret_name(std::string_view name) {
  const Kind kind = kind_of(name);
  return kind != Kind::kPlain && kind != Kind::kArgument;
}

bool is_secret_argument(std::string_view name) {
  return kind_of(name) != Kind::kPlain;
}

namespace {

std::string in_its_place(std::string_view) {
  return std::string(kRedacted);
}

// True if an option or a variable of this name has a secret value. More words count here than in
// other texts.
bool has_secret_value(std::string_view name) {
  const std::vector<std::string> words = words_of(name);
  if (is_one_of(kPlaces, words.back())) return false;
  return is_secret_name(name) ||
         std::any_of(words.begin(), words.end(), [](const std::string& word) {
           return is_one_of(kVariableWords, word) || word.ends_with("pass") ||
                  word.ends_with("pwd");
         });
}

// Redacts VALUE in "--token VALUE", "--token 'VALUE'" and "--token=VALUE" if is_secret("--token").
template <class IsSecret>
std::string redact_values_of_options(std::string_view text, const IsSecret& is_secret,
                                     const Replacement& replace) {
  std::string out;
  size_t at = 0;
  while (at < text.size()) {
    const size_t next = std::min(text.find("--", at), text.size());
    out.append(text.substr(at, next - at));
    at = next;
    while (at < text.size() && is_name_char(text[at])) ++at;
    const std::string_view name = text.substr(next, at - next);
    out.append(name);
    const bool option = next == 0 || !is_name_char(text[next - 1]);
    if (!option || at == text.size() || (text[at] != ' ' && text[at] != '=') || !is_secret(name))
      continue;
    const size_t between = at;
    at = skip(text, at + 1, ' ');
    const std::string_view quote = quote_at(text, at);
    const size_t begin = at + quote.size();
    const size_t last = quote.empty()
                            ? std::min(text.find_first_of(" \t\r\n\"';|&)", begin), text.size())
                            : end_of_quoted(text, begin, quote);
    const std::string_view value = text.substr(begin, last - begin);
    const bool none =
        value.empty() || value.starts_with('-') || is_reference(value) || value == kRedacted;
    out.append(text.substr(between, begin - between))
        .append(none ? std::string(value) : replace(value));
    at = last;
  }
  return out;
}

}  // namespace

std::string redact_object(const std::string& text) {
  auto json = nlohmann::ordered_json::parse(text, nullptr, false);
  if (!json.is_object()) return "null";
  redact_values(&json);
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::string redact(std::string_view text, const Replacement& replace) {
  const auto is_secret = [](std::string_view name) { return kind_of(name) == Kind::kSecret; };
  return redact_named(redact_values_of_options(redact_forms(text, replace), is_secret, replace),
                      replace);
}

std::string redact(std::string_view text) {
  return redact(text, in_its_place);
}

std::string redact_command(std::string_view text) {
  return redact(redact_values_of_options(text, has_secret_value, in_its_place));
}

std::string redact_variable(std::string_view name, std::string_view value) {
  if (!has_secret_value(name) || value.empty() || is_reference(value)) return redact_command(value);
  return std::string(kRedacted);
}

}  // namespace filibuster
