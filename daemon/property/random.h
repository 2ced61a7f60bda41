// Numbers that follow from a seed alone, on any machine: the distributions of the standard library need not agree.
#pragma once

#include <cstdint>
#include <random>
#include <span>

namespace filibuster::property {

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  // Below `bound`, which is not 0. (The bias of the remainder is below 2^-32 for bounds of 32 bits.)
  uint64_t below(uint64_t bound) { return engine_() % bound; }
  // From `least` to `most`, both among them. Precondition: least <= most.
  int64_t between(int64_t least, int64_t most) {
    const uint64_t width = static_cast<uint64_t>(most) - static_cast<uint64_t>(least);
    const uint64_t step = width == UINT64_MAX ? engine_() : below(width + 1);
    return static_cast<int64_t>(static_cast<uint64_t>(least) + step);
  }
  // A place, by its weight. Precondition: the sum of the weights is not 0.
  size_t weighted(std::span<const uint64_t> weights) {
    uint64_t sum = 0;
    for (const uint64_t each : weights) sum += each;
    uint64_t left = below(sum);
    size_t at = 0;
    while (left >= weights[at]) left -= weights[at++];
    return at;
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace filibuster::property
