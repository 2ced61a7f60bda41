// What must not leave: values of credentials in headers, query strings, JSON and the like, found by
// the name before them. Text that is no credential stays byte for byte.
#include <algorithm>
#include <array>
#include <cctype>
#include <nlohmann/json.hpp>

#include "daemon/report/finding.h"

namespace filibuster {
namespace {

constexpr std::string_view kRedacted = "[redacted]";
// The value of a header reaches to the end of its line or of its quotes.
constexpr std::array<std::string_view, 5> kHeaders = {"authorization", "proxyauthorization",
                                                      "cookie", "setcookie", "xapikey"};
// A name that contains one of these has a secret value: access_token, client-secret, apiKey.
constexpr std::array<std::string_view, 6> kSecrets = {"token",  "password", "passwd",
                                                      "secret", "apikey",   "credential"};

bool is_name_char(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-';
}
bool is_quote(char c) {
  return c == '"' || c == '\'';
}

enum class Kind { kPlain, kHeader, kSecret };

// Case, '-' and '_' do not matter.
Kind kind_of(std::string_view name) {
  std::string plain;
  for (char c : name) {
    if (c != '-' && c != '_') {
      plain += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
  }
  if (std::find(kHeaders.begin(), kHeaders.end(), plain) != kHeaders.end()) return Kind::kHeader;
  for (std::string_view secret : kSecrets) {
    if (plain.find(secret) != std::string::npos) return Kind::kSecret;
  }
  return Kind::kPlain;
}

size_t skip(std::string_view text, size_t at, char c) {
  while (at < text.size() && text[at] == c) ++at;
  return at;
}

// A quote, with the backslashes before it where the text is itself a quoted one: \"token\".
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

// "https://user:password@host": [begin, end) of the password; empty if there is none at `at`.
std::pair<size_t, size_t> password_in_url(std::string_view text, size_t at) {
  if (text.substr(at, 3) != "://") return {at, at};
  const size_t end = std::min(text.find_first_of("/?# \t\r\n\"'", at + 3), text.size());
  const std::string_view authority = text.substr(at + 3, end - at - 3);
  const size_t host = authority.rfind('@');
  const size_t colon = authority.find(':');
  if (host == std::string_view::npos || colon >= host) return {at, at};
  return {at + 3 + colon + 1, at + 3 + host};
}

void redact_values(nlohmann::ordered_json* json) {
  for (const auto& [name, value] : json->items()) {
    if (value.is_structured()) {
      redact_values(&value);
    } else if (json->is_object() && kind_of(name) != Kind::kPlain) {
      value = kRedacted;
    } else if (value.is_string()) {
      value = redact(value.get<std::string>());
    }
  }
}

}  // namespace

std::string redact_object(const std::string& text) {
  auto json = nlohmann::ordered_json::parse(text, nullptr, false);
  if (!json.is_object()) return "null";
  redact_values(&json);
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::string redact(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  size_t at = 0;
  while (at < text.size()) {
    if (const auto [begin, end] = password_in_url(text, at); begin < end) {
      out.append(text.substr(at, begin - at)).append(kRedacted);
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
    const Kind kind = kind_of(text.substr(begin, at - begin));
    if (kind == Kind::kPlain) continue;
    size_t value = at + quote_at(text, at).size();
    value = skip(text, value, ' ');
    if (value == text.size() || (text[value] != ':' && text[value] != '=')) continue;
    value = skip(text, value + 1, ' ');
    const std::string_view quote = quote_at(text, value);
    value += quote.size();
    const size_t end =
        quote.empty() ? end_of_value(text, value, kind) : end_of_quoted(text, value, quote);
    // An object or a list: what is in it is looked at by its own names.
    const bool nested =
        quote.empty() && value < text.size() && (text[value] == '{' || text[value] == '[');
    if (end <= value || nested) continue;
    out.append(text.substr(at, value - at)).append(kRedacted);
    at = end;
  }
  return out;
}

}  // namespace filibuster
