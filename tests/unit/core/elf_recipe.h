// The least of an ELF file that is looked at before a program starts: header, one program header,
// five sections. Shared by the tests of what reads it and of what judges by it.
#pragma once

#include <elf.h>

#include <string>
#include <string_view>
#include <vector>

namespace filibuster {

struct ElfRecipe {
  uint16_t machine = EM_X86_64;
  unsigned char bits = ELFCLASS64;
  std::string interpreter = "/lib64/ld-linux-x86-64.so.2";
  std::string section = {};  // a section of this name
  std::vector<std::string> needed = {};
  std::vector<std::string> versions = {};  // all of one library
  bool numbers_in_first_section = false;   // as where they do not fit the header
};

namespace elf_recipe {

template <typename T>
void append(std::string* out, const T& record) {
  out->append(reinterpret_cast<const char*>(&record), sizeof record);
}

// Where `text` stands in `table` from now on.
inline uint32_t add_text(std::string* table, std::string_view text) {
  const size_t at = table->size();
  table->append(text).push_back('\0');
  return static_cast<uint32_t>(at);
}

inline std::string dynamic(const std::vector<std::string>& needed, std::string* strings) {
  std::string out;
  for (const std::string& library : needed) {
    append(&out, Elf64_Dyn{DT_NEEDED, {add_text(strings, library)}});
  }
  append(&out, Elf64_Dyn{DT_NULL, {0}});
  return out;
}

inline std::string verneed(const std::vector<std::string>& versions, std::string* strings) {
  if (versions.empty()) return "";
  std::string out;
  append(&out,
         Elf64_Verneed{1, static_cast<Elf64_Half>(versions.size()), 0, sizeof(Elf64_Verneed), 0});
  for (size_t i = 0; i < versions.size(); ++i) {
    const uint32_t next = i + 1 < versions.size() ? sizeof(Elf64_Vernaux) : 0;
    append(&out, Elf64_Vernaux{0, 0, 0, add_text(strings, versions[i]), next});
  }
  return out;
}

}  // namespace elf_recipe

inline std::string make_elf(const ElfRecipe& recipe) {
  using namespace elf_recipe;
  std::string names(1, '\0'), strings(1, '\0');
  const uint32_t name = add_text(&names, recipe.section);
  const std::string contents[] = {dynamic(recipe.needed, &strings),
                                  verneed(recipe.versions, &strings)};
  Elf64_Ehdr header{};
  std::string_view(ELFMAG, SELFMAG).copy(reinterpret_cast<char*>(header.e_ident), SELFMAG);
  header.e_ident[EI_CLASS] = recipe.bits;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_EXEC;
  header.e_machine = recipe.machine;
  header.e_version = EV_CURRENT;
  header.e_ehsize = sizeof header;
  header.e_phoff = sizeof header;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = recipe.interpreter.empty() ? 0 : 1;
  header.e_shentsize = sizeof(Elf64_Shdr);

  Elf64_Phdr program{};
  program.p_type = PT_INTERP;
  program.p_offset = sizeof header + sizeof program;
  program.p_filesz = recipe.interpreter.size() + 1;
  std::string body = recipe.interpreter + '\0';
  Elf64_Shdr sections[5]{};
  const auto place = [&](int i, Elf64_Word type, std::string_view content) {
    body.resize((body.size() + 7) / 8 * 8);
    sections[i].sh_type = type;
    sections[i].sh_offset = sizeof header + sizeof program + body.size();
    sections[i].sh_size = content.size();
    body += content;
  };
  place(1, SHT_STRTAB, names);
  place(2, SHT_STRTAB, strings);
  place(3, SHT_DYNAMIC, contents[0]);
  place(4, SHT_GNU_verneed, contents[1]);
  sections[1].sh_name = name;
  sections[3].sh_link = sections[4].sh_link = 2;
  sections[3].sh_entsize = sizeof(Elf64_Dyn);
  body.resize((body.size() + 7) / 8 * 8);
  header.e_shoff = sizeof header + sizeof program + body.size();
  header.e_shnum = 5;
  header.e_shstrndx = 1;
  if (recipe.numbers_in_first_section) {
    sections[0].sh_size = header.e_shnum;
    sections[0].sh_link = header.e_shstrndx;
    sections[0].sh_info = header.e_phnum;
    header.e_shnum = 0;
    header.e_shstrndx = SHN_XINDEX;
    header.e_phnum = PN_XNUM;
  }
  std::string out;
  append(&out, header);
  append(&out, program);
  out += body;
  append(&out, sections);
  return out;
}

}  // namespace filibuster
