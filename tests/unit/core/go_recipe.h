// The least of a Go program whose table can be read: a segment, two functions, and one call that is inlined in the second.
// Shared by the tests of what reads it, in each of the layouts. No names of sections, as where they are stripped, too.
#pragma once

#include <elf.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace filibuster::go_recipe {

enum class Layout { k116, k118, k120 };
inline constexpr uint64_t kBase = 0x400000, kText = 0x500000;

template <typename T>
void append(std::string* out, T value) {
  out->append(reinterpret_cast<const char*>(&value), sizeof value);
}
inline void align(std::string* out) {
  out->resize((out->size() + 7) / 8 * 8);
}
inline uint32_t add_text(std::string* table, std::string_view text) {
  const size_t at = table->size();
  table->append(text).push_back('\0');
  return static_cast<uint32_t>(at);
}

// Pairs of a value and how many bytes it holds for.
inline uint32_t add_values(std::string* table,
                           const std::vector<std::pair<int, unsigned>>& values) {
  const size_t at = table->size();
  int last = -1;
  for (const auto& [value, length] : values) {
    const int change = value - last;
    table->push_back(static_cast<char>(change < 0 ? -2 * change - 1 : 2 * change));
    table->push_back(static_cast<char>(length));
    last = value;
  }
  table->push_back(0);
  return static_cast<uint32_t>(at);
}

// main.main is [kText, +0x40), main.work [+0x40, +0x80). main.helper is inlined in work's [+0x50, +0x60).
inline std::string make_program(Layout layout) {
  std::string names(1, '\0'), files, values(1, '\0'), units, functions, inlined;
  const uint32_t main = add_text(&names, "main.main"), work = add_text(&names, "main.work"),
                 helper = add_text(&names, "main.helper");
  append<uint32_t>(&units, add_text(&files, "/src/main.go"));
  append<uint32_t>(&units, add_text(&files, "/src/helper.go"));

  const bool wide = layout == Layout::k116;
  const auto add_entry = [&](std::string* out, uint64_t offset, uint64_t record) {
    if (wide) {
      append<uint64_t>(out, kText + offset), append<uint64_t>(out, record);
    } else {
      append<uint32_t>(out, static_cast<uint32_t>(offset)),
          append<uint32_t>(out, static_cast<uint32_t>(record));
    }
  };
  const auto make_record = [&](uint64_t offset, uint32_t name, uint32_t file, uint32_t line,
                               uint32_t inlining) {
    std::string out;
    wide ? append<uint64_t>(&out, kText + offset)
         : append<uint32_t>(&out, static_cast<uint32_t>(offset));
    for (const uint32_t field : {name, 0u, 0u, 0u, file, line, 3u, 0u}) append(&out, field);
    if (layout == Layout::k120) append<uint32_t>(&out, 1);
    append<uint32_t>(&out, 4u << 24);  // four kinds of data
    for (const uint32_t list : {0u, 0u, inlining}) append(&out, list);
    for (const uint32_t data : {~0u, ~0u, ~0u, 0u}) append(&out, data);
    out.resize((out.size() + 7) / 8 * 8);
    return out;
  };
  const std::string first =
      make_record(0, main, add_values(&values, {{0, 0x40}}), add_values(&values, {{10, 0x40}}), 0);
  const std::string second =
      make_record(0x40, work, add_values(&values, {{0, 0x10}, {1, 0x10}, {0, 0x20}}),
                  add_values(&values, {{20, 0x10}, {5, 0x10}, {22, 0x20}}),
                  add_values(&values, {{-1 + 0, 0x10}, {0, 0x10}, {-1, 0x20}}));
  const uint64_t records = (wide ? 16 : 8) * 3;
  add_entry(&functions, 0, records);
  add_entry(&functions, 0x40, records + first.size());
  add_entry(&functions, 0x80, 0);
  functions += first + second;

  // Where the call of helper stands in work: at its first bytes.
  if (layout == Layout::k120) {
    for (const uint32_t field : {0u, helper, 4u, 1u}) append(&inlined, field);
  } else {
    for (const uint32_t field : {0xffffu, 0u, 20u, helper, 4u}) append(&inlined, field);
  }

  std::string table;
  append<uint32_t>(&table, layout == Layout::k116   ? 0xfffffffa
                           : layout == Layout::k118 ? 0xfffffff0
                                                    : 0xfffffff1);
  table += std::string("\0\0\1\10", 4);
  append<uint64_t>(&table, 2), append<uint64_t>(&table, 2);
  if (!wide) append<uint64_t>(&table, kText);
  uint64_t at = wide ? 64 : 72;
  for (std::string* part : {&names, &units, &files, &values, &functions}) {
    align(part);
    append<uint64_t>(&table, at);
    at += part->size();
  }
  table += names + units + files + values + functions;

  Elf64_Ehdr header{};
  std::copy_n(ELFMAG, SELFMAG, header.e_ident);
  header.e_ident[EI_CLASS] = ELFCLASS64, header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_machine = EM_X86_64, header.e_phoff = sizeof header, header.e_phnum = 1;
  std::string image;
  append(&image, header);
  image.resize(128);
  const uint64_t table_at = kBase + image.size();
  image += table;
  std::vector<uint64_t> module(41);
  const uint64_t module_at = image.size();
  module[0] = table_at, module[22] = kText;
  module[layout == Layout::k120 ? 40 : 38] = kBase + module_at + module.size() * 8;
  for (const uint64_t word : module) append(&image, word);
  image += inlined;
  const Elf64_Phdr segment{PT_LOAD, PF_R, 0, kBase, kBase, image.size(), image.size(), 4096};
  image.replace(sizeof header, sizeof segment, reinterpret_cast<const char*>(&segment),
                sizeof segment);
  return image;
}

}  // namespace filibuster::go_recipe
