// Recognises secrets by their form alone.
#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>

#include "core/text/base64.h"
#include "daemon/redact/checksums.h"
#include "daemon/redact/redact.h"
#include "daemon/redact/rules.h"

namespace filibuster {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}
// Characters of base64url (RFC 4648 §5).
bool is_base64url(char c) {
  return is_word(c) || c == '-';
}
bool is_token68(char c) {  // RFC 9110 §11.2
  return is_word(c) || c == '-' || c == '.' || c == '~' || c == '+' || c == '/' || c == '=';
}

template <class Is>
size_t end_of(std::string_view text, size_t at, Is is) {
  while (at < text.size() && is(text[at])) ++at;
  return at;
}

bool begins_word(std::string_view text, size_t at) {
  return at == 0 || !is_word(text[at - 1]);
}

// Each of the following functions returns the end of the secret that begins at `at`, or `at` if none
// does.

// A JSON Web Token (RFC 7519): base64url of {"..., a dot, and at least one more part. The text may be
// cut within the token.
size_t jwt(std::string_view text, size_t at) {
  constexpr std::string_view kBegin = "eyJ";
  constexpr size_t kLeastHeader = 10;
  if (!text.substr(at).starts_with(kBegin)) return at;
  size_t end = end_of(text, at, is_base64url);
  if (end - at < kLeastHeader || end == text.size() || text[end] != '.') return at;
  const size_t payload = end_of(text, end + 1, is_base64url);
  if (payload == end + 1) return at;
  end = payload;
  while (end + 1 < text.size() && text[end] == '.' && is_base64url(text[end + 1]))
    end = end_of(text, end + 1, is_base64url);
  return end;
}

// "Bearer TOKEN", "Basic BASE64" (RFC 6750, 7617). In prose ("bearer of", "basic example") an ordinary
// word follows, which is told by its length and by what it decodes to.
size_t credentials(std::string_view text, size_t at) {
  constexpr size_t kLeastToken = 8, kSurelyToken = 20;
  const auto begins = [&](std::string_view lower) {
    return text.size() - at > lower.size() &&
           std::equal(
               lower.begin(), lower.end(), text.begin() + static_cast<std::ptrdiff_t>(at),
               [](char a, char b) { return a == std::tolower(static_cast<unsigned char>(b)); });
  };
  const bool bearer = begins("bearer ");
  if ((!bearer && !begins("basic ")) || !begins_word(text, at)) return at;
  const size_t value = end_of(text, text.find(' ', at), [](char c) { return c == ' '; });
  const size_t end = end_of(text, value, is_token68);
  const std::string_view token = text.substr(value, end - value);
  if (!bearer) {
    const auto decoded = from_base64(token);
    return decoded && decoded->find(':') != std::string::npos ? end : at;
  }
  const bool has_digit = std::any_of(token.begin(), token.end(), is_digit);
  return token.size() >= kSurelyToken || (token.size() >= kLeastToken && has_digit) ? end : at;
}

struct CardRow {
  uint32_t first, last;  // range of the leading digits, inclusive
  size_t digits;         // how many leading digits that is
  std::array<uint8_t, 4> lengths;
};
// Ranges of issuers (ISO/IEC 7812).
constexpr CardRow kCards[] = {
    {4, 4, 1, {13, 16, 19}},        // Visa
    {51, 55, 2, {16}},              // Mastercard
    {2221, 2720, 4, {16}},          //
    {34, 34, 2, {15}},              // American Express
    {37, 37, 2, {15}},              //
    {300, 305, 3, {14}},            // Diners Club
    {36, 36, 2, {14}},              //
    {38, 38, 2, {14}},              //
    {3528, 3589, 4, {16, 17, 18}},  // JCB
    {6011, 6011, 4, {16, 19}},      // Discover
    {644, 659, 3, {16, 19}},        //
    {62, 62, 2, {16, 17, 18, 19}},  // UnionPay
    {50, 50, 2, {16, 18, 19}},      // Maestro
    {56, 58, 2, {16, 18, 19}},      //
};

bool is_card(const std::string& digits) {
  const bool issued = std::any_of(std::begin(kCards), std::end(kCards), [&](const CardRow& row) {
    if (std::find(row.lengths.begin(), row.lengths.end(), digits.size()) == row.lengths.end())
      return false;
    const auto leading = static_cast<uint32_t>(std::stoul(digits.substr(0, row.digits)));
    return leading >= row.first && leading <= row.last;
  });
  if (!issued) return false;
  return luhn_remainder(digits) == 0;
}

// The number of a payment card: in one piece, or in groups of four and more digits with blanks or hyphens
// between them.
size_t card(std::string_view text, size_t at) {
  constexpr size_t kLeastDigits = 13, kMostDigits = 19, kLeastGroup = 4;
  if (!is_digit(text[at]) || !begins_word(text, at) || (at > 0 && text[at - 1] == '.')) return at;
  std::string digits;
  size_t end = at;
  char separator = '\0';
  while (true) {
    const size_t group = end_of(text, end, is_digit);
    digits += text.substr(end, group - end);
    const bool whole = group - end >= kLeastGroup || digits.size() >= kLeastDigits;
    end = group;
    if (!whole || digits.size() > kMostDigits) return at;
    if (end + 1 >= text.size() || !is_digit(text[end + 1])) break;
    if (text[end] != ' ' && text[end] != '-') break;
    if (separator != '\0' && text[end] != separator) break;
    if (is_card(digits)) break;
    separator = text[end++];
  }
  const bool goes_on =
      end < text.size() && (is_word(text[end]) ||
                            (text[end] == '.' && end + 1 < text.size() && is_digit(text[end + 1])));
  return !goes_on && digits.size() >= kLeastDigits && is_card(digits) ? end : at;
}

// A private key in PEM (RFC 7468). If the text was cut, the key reaches to its end.
size_t private_key(std::string_view text, size_t at) {
  constexpr std::string_view kBegin = "-----BEGIN ", kEnd = "-----END ", kDashes = "-----";
  if (!text.substr(at).starts_with(kBegin)) return at;
  const size_t label = text.find(kDashes, at + kBegin.size());
  if (label == std::string_view::npos || !text.substr(at, label - at).ends_with("PRIVATE KEY")) {
    return at;
  }
  const size_t last = text.find(kEnd, label);
  if (last == std::string_view::npos) return text.size();
  const size_t dashes = text.find(kDashes, last + kEnd.size());
  return dashes == std::string_view::npos ? text.size() : dashes + kDashes.size();
}

struct PrefixRow {
  std::string_view prefix;
  size_t least;  // characters that must follow the prefix
};
constexpr PrefixRow kPrefixes[] = {
    {"AKIA", 16},    {"ASIA", 16},        {"ghp_", 20},    {"gho_", 20},  {"ghs_", 20},
    {"ghu_", 20},    {"glpat-", 16},      {"xoxa-", 10},   {"xoxb-", 10}, {"xoxp-", 10},
    {"sk_live_", 8}, {"rk_live_", 8},     {"sk_test_", 8}, {"whsec_", 8}, {"AIza", 30},
    {"npm_", 30},    {"github_pat_", 20},
};

size_t well_known_key(std::string_view text, size_t at) {
  if (!begins_word(text, at)) return at;
  for (const PrefixRow& row : kPrefixes) {
    if (!text.substr(at).starts_with(row.prefix)) continue;
    const size_t value = at + row.prefix.size();
    const size_t end = end_of(text, value, is_base64url);
    if (end - value >= row.least) return end;
  }
  return at;
}

}  // namespace

size_t known_key_prefix(std::string_view text) {
  for (const PrefixRow& row : kPrefixes) {
    if (text.starts_with(row.prefix)) return row.prefix.size();
  }
  return 0;
}

namespace {

// The bytes with which some form begins. They make redact_forms() fast enough for every text of every
// execution.
constexpr std::array<bool, 256> kFirst = [] {
  std::array<bool, 256> first{};
  for (const char c : std::string_view("eBb-0123456789"))
    first[static_cast<unsigned char>(c)] = true;
  for (const PrefixRow& row : kPrefixes)
    first[static_cast<unsigned char>(row.prefix.front())] = true;
  return first;
}();

}  // namespace

std::string redact_forms(std::string_view text) {
  return redact_forms(text, [](std::string_view) { return std::string(kRedacted); });
}

std::string redact_forms(std::string_view whole, const Replacement& replace) {
  std::string by_rules;
  std::string_view text = whole;
  if (const auto rules = rules_in_force())
    text = by_rules = rules->replaced(whole, SecretPlace::kAnywhere, replace);
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    if (kFirst[static_cast<unsigned char>(text[at])]) {
      for (const auto form : {jwt, credentials, card, private_key, well_known_key}) {
        if (end == at) end = form(text, at);
      }
    }
    if (end == at) {
      out += text[at++];
      continue;
    }
    // The scheme ("Bearer") stays, since it says what was there.
    const size_t blank = text.substr(at, end - at).find(' ');
    const bool scheme = blank != std::string_view::npos && std::isalpha(text[at]) != 0;
    if (scheme) out.append(text.substr(at, blank + 1));
    const size_t secret = scheme ? at + blank + 1 : at;
    out += replace(text.substr(secret, end - secret));
    at = end;
  }
  return out;
}

}  // namespace filibuster
