// Numbers that tell sessions apart.
#pragma once

#include <cstdint>
#include <random>

namespace filibuster {

// From the system's source of random numbers; never 0.
inline uint32_t random_number() {
  std::random_device device;
  uint32_t number = 0;
  while (number == 0) number = device();
  return number;
}

}  // namespace filibuster
