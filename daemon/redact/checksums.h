// The sums by which numbers of payment cards and of bank accounts are told from other numbers.
#pragma once

#include <string_view>

namespace filibuster {

// 0: a right number (Luhn, ISO/IEC 7812-1). Of digits alone.
inline int luhn_remainder(std::string_view digits) {
  int sum = 0;
  for (size_t i = 0; i < digits.size(); ++i) {
    int digit = digits[digits.size() - 1 - i] - '0';
    if (i % 2 == 1) digit = digit * 2 - (digit > 4 ? 9 : 0);
    sum += digit;
  }
  return sum % 10;
}

// 1: a right number (ISO 13616). Of digits and capital letters, of which the first four are the country and the check digits.
inline int iban_remainder(std::string_view number) {
  int remainder = 0;
  for (size_t i = 0; i < number.size(); ++i) {
    const char c = number[(i + 4) % number.size()];
    remainder = c >= '0' && c <= '9' ? (remainder * 10 + (c - '0')) % 97
                                     : (remainder * 100 + (c - 'A' + 10)) % 97;
  }
  return remainder;
}

}  // namespace filibuster
