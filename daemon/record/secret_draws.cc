#include "daemon/record/secret_draws.h"

#include <algorithm>
#include <array>
#include <vector>

#include "core/text/ascii.h"
#include "core/text/base64.h"

namespace filibuster::record {
namespace {

constexpr size_t kLeastBytes = 6;
constexpr size_t kUuidBytes = 16;

std::string hexadecimal(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

// Letters and digits alone, in lower case, so that hyphens and capital letters make no difference.
std::string plain(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))
      out += to_lower(c);
  }
  return out;
}

std::string uuid_digits(std::string_view bytes) {
  std::string of(bytes);
  of[6] = static_cast<char>((of[6] & 0x0F) | 0x40);  // version 4
  of[8] = static_cast<char>((of[8] & 0x3F) | 0x80);
  return hexadecimal(of);
}

}  // namespace

bool makes_a_secret(std::string_view bytes,
                    const std::map<std::string, std::string, std::less<>>& secrets) {
  if (bytes.size() < kLeastBytes || secrets.empty()) return false;
  // Without its last letter, which follows from the length, too.
  std::string in_base64 = to_base64(bytes);
  in_base64.resize(bytes.size() * 4 / 3);
  std::vector<std::string> forms{hexadecimal(bytes), plain(in_base64)};
  if (bytes.size() == kUuidBytes) forms.push_back(uuid_digits(bytes));
  return std::any_of(secrets.begin(), secrets.end(), [&](const auto& row) {
    const std::string secret = plain(row.second);
    return row.second.find(bytes) != std::string::npos ||
           std::any_of(forms.begin(), forms.end(), [&](const std::string& form) {
             return secret.find(form) != std::string::npos;
           });
  });
}

}  // namespace filibuster::record
