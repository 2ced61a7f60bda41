// Numbers that tell sessions apart.
#pragma once

#include <cstdint>
#include <random>
#include <string>

namespace filibuster {

// From the system's source of random numbers; never 0.
inline uint32_t random_number() {
  std::random_device device;
  uint32_t number = 0;
  while (number == 0) number = device();
  return number;
}

// 128 bits of the same source, as 32 hexadecimal digits.
inline std::string random_hexadecimal() {
  constexpr char kDigits[] = "0123456789abcdef";
  std::random_device device;
  std::string out;
  while (out.size() < 32) {
    const uint32_t bits = device();
    for (int shift = 28; shift >= 0; shift -= 4) out += kDigits[(bits >> shift) & 15];
  }
  return out;
}

}  // namespace filibuster
