#include "daemon/record/token.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/hash.h"
#include "core/text/base64.h"
#include "daemon/redact/checksums.h"
#include "daemon/redact/redact.h"
#include "daemon/wire/json_node.h"

namespace filibuster::record {
namespace {

using wire::JsonNode;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_capital(char c) {
  return c >= 'A' && c <= 'Z';
}
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || is_capital(c);
}
bool is_digit_or_letter(char c) {
  return is_digit(c) || is_letter(c);
}

template <typename Is>
bool all_of(std::string_view text, Is is) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is);
}

// "%2F" is one letter of a query.
bool is_of_escape(std::string_view text, size_t at) {
  return (at >= 1 && text[at - 1] == '%') || (at >= 2 && text[at - 2] == '%');
}

// Digits alone are a number. Hyphens: of a UUID.
bool is_hexadecimal(std::string_view text) {
  const bool small = text.find_first_of("abcdef") != text.npos;
  const bool capital = text.find_first_of("ABCDEF") != text.npos;
  return text.size() >= 8 && small != capital &&
         text.find_first_not_of("0123456789abcdefABCDEF-") == text.npos;
}

bool is_uuid(std::string_view text) {
  constexpr size_t kSize = 36;
  if (text.size() != kSize) return false;
  for (size_t i = 0; i < kSize; ++i) {
    const bool hyphen = i == 8 || i == 13 || i == 18 || i == 23;
    if (hyphen != (text[i] == '-')) return false;
    if (!hyphen && std::isxdigit(static_cast<unsigned char>(text[i])) == 0) return false;
  }
  return true;
}
constexpr size_t kUuidVersion = 14, kUuidVariant = 19;  // where they stand (RFC 9562 §4)

std::string without(std::string_view text, std::string_view separators) {
  std::string out;
  for (const char c : text) {
    if (separators.find(c) == separators.npos) out += c;
  }
  return out;
}

// "4111 1111 1111 1111"
bool is_card_number(std::string_view text) {
  constexpr size_t kLeast = 13, kMost = 19;
  const std::string digits = without(text, " -");
  return digits.size() >= kLeast && digits.size() <= kMost && all_of(digits, is_digit) &&
         luhn_remainder(digits) == 0 && is_digit(text.front()) && is_digit(text.back());
}

bool is_iban(std::string_view text) {
  constexpr size_t kLeast = 15, kMost = 34;
  const std::string number = without(text, " ");
  return number.size() >= kLeast && number.size() <= kMost &&
         all_of(std::string_view(number).substr(0, 2), is_capital) &&
         all_of(std::string_view(number).substr(2, 2), is_digit) &&
         all_of(number, [](char c) { return is_digit(c) || is_capital(c); }) &&
         iban_remainder(number) == 1;
}

bool is_address(std::string_view text) {  // of IPv4
  size_t parts = 0;
  while (true) {
    const std::string_view part = text.substr(0, std::min(text.find('.'), text.size()));
    if (part.empty() || part.size() > 3 || !all_of(part, is_digit)) return false;
    if (std::stoi(std::string(part)) > 255) return false;
    ++parts;
    if (part.size() == text.size()) return parts == 4;
    text.remove_prefix(part.size() + 1);
  }
}

// Of either variant.
std::optional<std::string> decoded_base64(std::string_view text) {
  std::string digits(text);
  std::replace(digits.begin(), digits.end(), '-', '+');
  std::replace(digits.begin(), digits.end(), '_', '/');
  return from_base64(digits);
}

// Base64 of a text that people can read, written as others write it.
std::optional<std::string> text_in_base64(std::string_view text) {
  constexpr size_t kLeast = 6;
  auto out = decoded_base64(text);
  const auto is_printable = [](char c) { return c >= ' ' && c <= '~'; };
  return out && out->size() >= kLeast && all_of(*out, is_printable) ? out : std::nullopt;
}

std::string base64_like(std::string_view bytes, std::string_view as) {
  std::string out = to_base64(bytes);
  const bool padded =
      as.ends_with('=') || (as.size() % 4 == 0 && as.find_first_of("-_") == as.npos);
  if (!padded) out.erase(std::min(out.find('='), out.size()));
  if (padded && as.find_first_of("-_") == as.npos) return out;
  std::replace(out.begin(), out.end(), '+', '-');
  std::replace(out.begin(), out.end(), '/', '_');
  return out;
}

// The places of the mark, and those that it does not depend on: check digits, and bits of base64 that are left over.
struct MarkPlaces {
  std::vector<size_t> marked;
  Hash128 of_others;
};
std::optional<MarkPlaces> mark_places(std::string_view text) {
  constexpr size_t kLeast = 8, kMarked = 4, kFree = 4;
  if (is_address(text)) return std::nullopt;
  std::vector<size_t> places;
  for (size_t i = 0; i < text.size(); ++i) {
    if (is_digit_or_letter(text[i]) && !is_of_escape(text, i)) places.push_back(i);
  }
  if (places.size() < kLeast) return std::nullopt;
  MarkPlaces out;
  out.marked.assign(places.end() - kMarked - 1, places.end() - 1);
  std::string others(text);
  others[places.back()] = '*';
  for (const size_t at : out.marked) others[at] = '*';
  for (size_t i = 0; i < std::min(kFree, others.size()); ++i) others[i] = '*';
  out.of_others = hash_text("token of filibuster:" + others);
  return out;
}

char mark_letter(char c, uint64_t number, bool hexadecimal) {
  if (is_digit(c)) return static_cast<char>('0' + number % 10);
  const uint64_t letters = hexadecimal ? 6 : 26;
  return static_cast<char>((c >= 'a' ? 'a' : 'A') + number % letters);
}

}  // namespace

std::string marked(std::string text) {
  const auto places = mark_places(text);
  if (!places) return text;
  const bool hexadecimal = is_hexadecimal(text);
  uint64_t number = places->of_others.lo;
  for (const size_t at : places->marked) {
    text[at] = mark_letter(text[at], number, hexadecimal);
    number /= 26;
  }
  return text;
}

namespace {

// Of which sixteen letters in base64 the bits that are left over are those of `c`: a decoder may want them to be 0.
char with_bits_of(char c, std::string_view as) {
  const size_t digits = std::min(as.find('='), as.size());
  const size_t left_over = digits % 4 == 2 ? 16 : digits % 4 == 3 ? 4 : 1;
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
  const size_t now = kDigits.find(c), before = kDigits.find(as[digits - 1]);
  if (now == kDigits.npos || before == kDigits.npos || before % left_over != 0) return c;
  return kDigits[now - now % left_over];
}

// Does the text look like base64 of bytes? A word does not.
bool is_base64_of_bytes(std::string_view text) {
  constexpr size_t kLeast = 16;
  const std::string_view digits = text.substr(0, std::min(text.find('='), text.size()));
  const auto has = [&](auto is) { return std::any_of(digits.begin(), digits.end(), is); };
  return text.size() >= kLeast && has(is_digit) &&
         has([](char c) { return c >= 'a' && c <= 'z'; }) &&
         has([](char c) { return c >= 'A' && c <= 'Z'; }) && decoded_base64(text).has_value();
}

// What would be marked are its claims.
bool is_unsigned_web_token(std::string_view text) {
  constexpr size_t kLeast = 12;
  return text.starts_with("eyJ") && text.size() - (text.rfind('.') + 1) < kLeast;
}

class TokenMaker {
 public:
  TokenMaker(std::string_view key, unsigned round) : key_(key), round_(round) {}

  std::string token(std::string_view secret) const {
    if (const size_t body = secret.find("-----\n");
        secret.starts_with("-----BEGIN ") && body != secret.npos)
      return pem(secret, body + 6);
    if (auto jwt = web_token(secret))
      return is_unsigned_web_token(secret) ? *jwt : marked(std::move(*jwt));
    if (const auto text = text_in_base64(secret))
      return base64_like(json(*text).value_or(token(*text)), secret);
    if (is_card_number(secret)) return card(secret);
    if (is_iban(secret)) return iban(secret);
    if (is_address(secret)) return address(secret);
    std::string out = letters(secret);
    const size_t kept = known_key_prefix(secret);
    std::copy_n(secret.begin(), kept, out.begin());
    if (is_uuid(secret)) {
      for (const size_t at : {kUuidVersion, kUuidVariant}) out[at] = secret[at];
    }
    if (is_base64_of_bytes(secret)) {
      const size_t last = std::min(secret.find('='), secret.size()) - 1;
      out[last] = with_bits_of(out[last], secret);
    }
    return marked(std::move(out));
  }

 private:
  // Each letter is another one of its kind. The first digit of a number is no zero.
  std::string letters(std::string_view secret) const {
    constexpr std::string_view kSmall = "0123456789abcdef", kCapital = "0123456789ABCDEF";
    std::string out;
    const bool hexadecimal = is_hexadecimal(secret);
    const bool small = secret.find_first_of("abcdef") != secret.npos;
    std::array<uint8_t, EVP_MAX_MD_SIZE> block{};
    unsigned size = 0;
    for (size_t i = 0; i < secret.size(); ++i) {
      if (i % 32 == 0) {
        const std::string what =
            std::to_string(round_) + ":" + std::to_string(i / 32) + ":" + std::string(secret);
        HMAC(EVP_sha256(), key_.data(), static_cast<int>(key_.size()),
             reinterpret_cast<const uint8_t*>(what.data()), what.size(), block.data(), &size);
      }
      const char c = secret[i];
      const uint8_t byte = block[i % 32];
      const bool first = i == 0 || (i == 1 && secret[0] == '-');
      if (is_of_escape(secret, i)) {
        out += c;
      } else if (hexadecimal && c != '-') {
        out += (small ? kSmall : kCapital)[byte % 16];
      } else if (is_digit(c)) {
        out += static_cast<char>(first ? '1' + byte % 9 : '0' + byte % 10);
      } else if (is_letter(c)) {
        out += static_cast<char>((c >= 'a' ? 'a' : 'A') + byte % 26);
      } else {
        // What is no ASCII keeps its number of bytes, and stays a text.
        out += static_cast<unsigned char>(c) >= 0x80 ? static_cast<char>('a' + byte % 26) : c;
      }
    }
    return out;
  }

  std::string card(std::string_view secret) const {
    constexpr size_t kIssuer = 4;
    std::string out = letters(secret);
    std::copy_n(secret.begin(), kIssuer, out.begin());
    out = marked(std::move(out));
    out.back() = '0';
    out.back() = static_cast<char>('0' + (10 - luhn_remainder(without(out, " -"))) % 10);
    return out;
  }

  std::string iban(std::string_view secret) const {
    constexpr size_t kBegin = 4;
    std::string out = letters(secret);
    std::copy_n(secret.begin(), kBegin, out.begin());
    out = marked(std::move(out));
    out[2] = out[3] = '0';
    const int check = 98 - iban_remainder(without(out, " "));
    out[2] = static_cast<char>('0' + check / 10);
    out[3] = static_cast<char>('0' + check % 10);
    return out;
  }

  // "192.168.7.12": each number is another one of as many digits.
  std::string address(std::string_view secret) const {
    std::string out = letters(secret);
    for (size_t at = 0; at < out.size();) {
      const size_t end = std::min(out.find('.', at), out.size());
      if (end - at > 1) out[at] = end - at == 3 ? '1' : out[at] == '0' ? '1' : out[at];
      at = end + 1;
    }
    return out;
  }

  // The lines that say what it is stay.
  std::string pem(std::string_view secret, size_t body) const {
    const size_t end = std::min(secret.find("\n-----END ", body), secret.size());
    return std::string(secret.substr(0, body)) + marked(letters(secret.substr(body, end - body))) +
           std::string(secret.substr(end));
  }

  // RFC 7519. nullopt: it is none.
  std::optional<std::string> web_token(std::string_view secret) const {
    constexpr std::string_view kForUrls = "_";
    const size_t dot = secret.find('.');
    if (!secret.starts_with("eyJ") || dot == secret.npos) return std::nullopt;
    const auto header = decoded_base64(secret.substr(0, dot));
    const auto other = header ? json(*header) : std::nullopt;
    if (!other) return std::nullopt;
    // Other tokens begin with what they say, and have no header.
    const bool is_header = header->find("\"alg\"") != header->npos;
    std::string out =
        is_header ? std::string(secret.substr(0, dot)) : base64_like(*other, kForUrls);
    const size_t second = std::min(secret.find('.', dot + 1), secret.size());
    const std::string_view payload = secret.substr(dot + 1, second - dot - 1);
    const auto claims = decoded_base64(payload);
    const auto other_claims = claims ? json(*claims) : std::nullopt;
    out += "." + (other_claims ? base64_like(*other_claims, kForUrls) : letters(payload));
    std::string rest = letters(secret.substr(second));
    if (const size_t last = secret.rfind('.'); second < secret.size() && last + 1 < secret.size())
      rest.back() = with_bits_of(rest.back(), secret.substr(last + 1));
    return out + rest;
  }

  // An object with other values. nullopt: it is none.
  std::optional<std::string> json(std::string_view text) const {
    constexpr size_t kDepth = 16;
    auto node = text.starts_with('{') ? wire::parse_json_node(text, kDepth) : std::nullopt;
    if (!node) return std::nullopt;
    const auto style = wire::json_style_of(*node, text);
    take(&*node, "");
    return wire::print_json(*node, style.value_or(wire::JsonStyle()));
  }

  // What says until when it is valid, and for whom, is looked at by whoever does not check the signature.
  void take(JsonNode* node, const std::string& name) const {
    constexpr std::string_view kKept[] = {"exp", "iat", "nbf", "auth_time", "iss", "aud", "typ"};
    if (std::find(std::begin(kKept), std::end(kKept), name) != std::end(kKept)) return;
    for (JsonNode& each : node->children)
      take(&each, node->kind == JsonNode::Kind::kObject ? wire::json_token_text(each.key) : name);
    if (node->kind != JsonNode::Kind::kScalar || node->token.empty()) return;
    if (node->token.starts_with('"')) {
      node->token = wire::json_token(letters(wire::json_token_text(node->token))).value_or("\"\"");
    } else if (all_of(node->token, is_digit)) {
      node->token = letters(node->token);
    }
  }

  std::string_view key_;
  unsigned round_;
};

}  // namespace

std::string token_of(std::string_view secret, std::string_view key, unsigned round) {
  return TokenMaker(key, round).token(secret);
}

namespace {

// Without the lines that say what it is.
std::string_view body_of_pem(std::string_view text) {
  const size_t line = text.find("-----\n");
  if (!text.starts_with("-----BEGIN ") || line == text.npos) return text;
  const size_t begin = line + 6;
  return text.substr(begin, std::min(text.find("\n-----END ", begin), text.size()) - begin);
}

bool has_mark(std::string_view text) {
  return mark_places(text) && marked(std::string(text)) == text;
}

}  // namespace

bool is_token(std::string_view text) {
  text = body_of_pem(text);
  if (has_mark(text)) return true;
  const auto inner = text_in_base64(text);
  return inner && has_mark(*inner);
}

bool lacks_mark(std::string_view text) {
  text = body_of_pem(text);
  const auto inner = text_in_base64(text);
  if (inner && (inner->starts_with('{') || !mark_places(*inner))) return false;
  if (is_unsigned_web_token(text)) return false;
  return mark_places(text) && !is_token(text);
}

std::string mask_of(std::string_view secret) {
  const bool is_number = all_of(secret, [](char c) { return is_digit(c) || c == '-'; });
  return is_number ? "0" : "*";
}

}  // namespace filibuster::record
