#include "daemon/record/token.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace filibuster::record {
namespace {

// Digits alone are a number.
bool is_hexadecimal(std::string_view text) {
  const auto is_letter = [](char c) { return c >= 'a' && c <= 'f'; };
  return text.size() >= 8 && std::any_of(text.begin(), text.end(), is_letter) &&
         std::all_of(text.begin(), text.end(),
                     [&](char c) { return (c >= '0' && c <= '9') || is_letter(c); });
}

// A letter of the same kind. `first` of a number is no zero.
char letter_like(char c, uint8_t byte, bool hexadecimal, bool first) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  if (hexadecimal) return kDigits[byte % 16];
  if (c >= '0' && c <= '9') return static_cast<char>(first ? '1' + byte % 9 : '0' + byte % 10);
  if (c >= 'a' && c <= 'z') return static_cast<char>('a' + byte % 26);
  if (c >= 'A' && c <= 'Z') return static_cast<char>('A' + byte % 26);
  // What is no ASCII keeps its number of bytes, and stays a text.
  return static_cast<unsigned char>(c) >= 0x80 ? static_cast<char>('a' + byte % 26) : c;
}

}  // namespace

std::string token_of(std::string_view secret, std::string_view key, unsigned round) {
  std::string out;
  const bool hexadecimal = is_hexadecimal(secret);
  std::array<uint8_t, EVP_MAX_MD_SIZE> block{};
  unsigned size = 0;
  for (size_t i = 0; i < secret.size(); ++i) {
    if (i % 32 == 0) {
      const std::string what =
          std::to_string(round) + ":" + std::to_string(i / 32) + ":" + std::string(secret);
      HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
           reinterpret_cast<const uint8_t*>(what.data()), what.size(), block.data(), &size);
    }
    // "%2F" is one letter of a query.
    const bool escaped = (i >= 1 && secret[i - 1] == '%') || (i >= 2 && secret[i - 2] == '%');
    const bool first = i == 0 || (i == 1 && secret[0] == '-');
    out += escaped ? secret[i] : letter_like(secret[i], block[i % 32], hexadecimal, first);
  }
  return out;
}

std::string mask_of(std::string_view secret) {
  const bool is_number = std::all_of(secret.begin(), secret.end(),
                                     [](char c) { return (c >= '0' && c <= '9') || c == '-'; });
  return is_number ? "0" : "*";
}

}  // namespace filibuster::record
