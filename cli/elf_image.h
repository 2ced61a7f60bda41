// What `doctor` wants to know of an ELF file, read from its bytes. Pure; every offset is checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace filibuster::cli {

struct ElfImage {
  bool same_class = true;             // 64-bit, as this program
  uint16_t machine = 0;               // EM_*
  std::string interpreter;            // the loader; empty: statically linked (or a library)
  std::vector<std::string> needed;    // DT_NEEDED
  std::vector<std::string> versions;  // required of others: "GLIBC_2.34", "GLIBC_2.2.5", ...
  bool go = false;
};

// nullopt: not an ELF file, or a broken one.
std::optional<ElfImage> read_elf(std::string_view bytes);

// "2.34" for the highest GLIBC_x.y in `versions`; "" if there is none.
std::string highest_glibc(const std::vector<std::string>& versions);

}  // namespace filibuster::cli
