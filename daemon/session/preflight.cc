#include "daemon/session/preflight.h"

#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <climits>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace filibuster {
namespace {

#if defined(__x86_64__)
constexpr GElf_Half kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr GElf_Half kMachine = EM_AARCH64;
#endif
constexpr unsigned char kClass = sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32;
constexpr int kMostIndirections = 5;  // the kernel follows at most 4 `#!` lines (binfmt_script)

struct MachineRow {
  GElf_Half machine;
  const char* name;
};
constexpr MachineRow kMachines[] = {
    {EM_X86_64, "x86-64"}, {EM_386, "32-bit x86"}, {EM_AARCH64, "arm64"}, {EM_ARM, "32-bit arm"},
    {EM_RISCV, "riscv"},   {EM_S390, "s390"},      {EM_PPC64, "ppc64"}};

std::string machine_name(GElf_Half machine) {
  for (const MachineRow& row : kMachines) {
    if (row.machine == machine) return row.name;
  }
  return "machine " + std::to_string(machine);
}

// The loader drops LD_PRELOAD (AT_SECURE) when the program gains rights.
void check_rights(const std::string& file, std::vector<std::string>* obstacles) {
  struct stat status;
  if (stat(file.c_str(), &status) != 0) return;
  if ((status.st_mode & S_ISUID) != 0 && status.st_uid != getuid()) {
    obstacles->push_back("is setuid: the loader ignores LD_PRELOAD for it");
  } else if ((status.st_mode & S_ISGID) != 0 && status.st_gid != getgid()) {
    obstacles->push_back("is setgid: the loader ignores LD_PRELOAD for it");
  } else if (getuid() != 0 && getxattr(file.c_str(), "security.capability", nullptr, 0) > 0) {
    obstacles->push_back("has file capabilities: the loader ignores LD_PRELOAD for it");
  }
}

struct ElfFile {
  int fd;
  Elf* elf;
  explicit ElfFile(const std::string& file) : fd(open(file.c_str(), O_RDONLY | O_CLOEXEC)) {
    elf_version(EV_CURRENT);
    elf = fd < 0 ? nullptr : elf_begin(fd, ELF_C_READ, nullptr);
  }
  ~ElfFile() {
    if (elf != nullptr) elf_end(elf);
    if (fd >= 0) close(fd);
  }
  ElfFile(const ElfFile&) = delete;
  ElfFile& operator=(const ElfFile&) = delete;
};

// Where PT_INTERP names the loader. Empty: no loader, so nothing can be preloaded.
std::string interpreter_of(Elf* elf) {
  size_t count = 0, size = 0;
  const char* image = elf_rawfile(elf, &size);
  elf_getphdrnum(elf, &count);
  for (size_t i = 0; i < count; ++i) {
    GElf_Phdr header;
    if (gelf_getphdr(elf, static_cast<int>(i), &header) == nullptr) break;
    if (header.p_type != PT_INTERP || image == nullptr) continue;
    if (header.p_offset >= size || header.p_filesz > size - header.p_offset) continue;
    const std::string_view raw(image + header.p_offset, header.p_filesz);
    return std::string(raw.substr(0, raw.find('\0')));
  }
  return "";
}

void check_sections(Elf* elf, ProgramCheck* check) {
  size_t names = 0;
  if (elf_getshdrstrndx(elf, &names) != 0) return;
  bool go = false;
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf, section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr) continue;
    const char* name = elf_strptr(elf, names, header.sh_name);
    const std::string_view title = name == nullptr ? "" : name;
    go = go || title == ".go.buildinfo" || title == ".note.go.buildid";
    if (header.sh_type != SHT_DYNAMIC || header.sh_entsize == 0) continue;
    Elf_Data* data = elf_getdata(section, nullptr);
    if (data == nullptr) continue;
    for (size_t i = 0; i < header.sh_size / header.sh_entsize; ++i) {
      GElf_Dyn entry;
      if (gelf_getdyn(data, static_cast<int>(i), &entry) == nullptr) break;
      if (entry.d_tag != DT_NEEDED) continue;
      const char* needed = elf_strptr(elf, header.sh_link, entry.d_un.d_val);
      if (needed != nullptr && std::string_view(needed).starts_with("libasan.so")) {
        check->asan_runtime = needed;
      }
    }
  }
  if (go) {
    check->obstacles.push_back(
        "is a Go program: its calls go to the kernel directly, not through libc");
  }
}

std::vector<std::string> words(std::string_view text) {
  std::istringstream stream{std::string(text)};
  std::vector<std::string> out;
  for (std::string word; stream >> word;) out.push_back(word);
  return out;
}

// "NAME=value": an assignment before a command.
bool is_assignment(std::string_view word) {
  const size_t equals = word.find('=');
  if (equals == 0 || equals == std::string_view::npos) return false;
  for (const char c : word.substr(0, equals)) {
    if (c != '_' && std::isalnum(static_cast<unsigned char>(c)) == 0) return false;
  }
  return true;
}

// The first word after `env`'s own options and assignments; argv[0] is env itself.
std::string after_env(const std::vector<std::string>& argv) {
  for (size_t i = 1; i < argv.size(); ++i) {
    if (argv[i] == "-u" || argv[i] == "-C") {
      ++i;
    } else if (!argv[i].starts_with("-") && !is_assignment(argv[i])) {
      return argv[i];
    }
  }
  return "";
}

// "" unless `file` begins with "#!"; then the words of that line.
std::vector<std::string> interpreter_line(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  char start[256] = {};
  stream.read(start, sizeof start - 1);
  const std::string_view text(start, static_cast<size_t>(stream.gcount()));
  if (!text.starts_with("#!")) return {};
  return words(text.substr(2, text.find('\n') - 2));
}

void check_file(const std::string& file, const std::string& reached, const std::string& directory,
                std::string_view path_variable, int depth, std::vector<ProgramCheck>* out) {
  if (file.empty() || depth > kMostIndirections) return;
  std::string next;
  const std::vector<std::string> line = interpreter_line(file);
  const std::string via = (reached.empty() ? "" : reached + " -> ") + file;
  if (!line.empty()) {
    const bool env = std::filesystem::path(line[0]).filename() == "env";
    next = find_program(env ? after_env(line) : line[0], directory, path_variable);
    check_file(next, via, directory, path_variable, depth + 1, out);
    return;
  }
  ProgramCheck check = check_elf(file);
  check.reached = reached.empty() ? "" : via;
  out->push_back(std::move(check));
}

}  // namespace

ProgramCheck check_elf(const std::string& file) {
  ProgramCheck check;
  check.program = file;
  check_rights(file, &check.obstacles);
  const ElfFile opened(file);
  if (opened.elf == nullptr || elf_kind(opened.elf) != ELF_K_ELF) return check;
  GElf_Ehdr header;
  if (gelf_getehdr(opened.elf, &header) == nullptr) return check;
  if (header.e_machine != kMachine || header.e_ident[EI_CLASS] != kClass) {
    check.obstacles.push_back("is built for " + machine_name(header.e_machine) +
                              ", libfilibuster.so for " + machine_name(kMachine));
    return check;
  }
  const std::string loader = interpreter_of(opened.elf);
  if (loader.empty()) {
    check.obstacles.push_back("is statically linked: no library can be preloaded into it");
  } else if (loader.find("ld-linux") == std::string::npos) {
    check.obstacles.push_back("is loaded by " + loader + ", not by glibc's loader");
  }
  check_sections(opened.elf, &check);
  return check;
}

std::string find_program(const std::string& name, const std::string& directory,
                         std::string_view path_variable) {
  namespace fs = std::filesystem;
  if (name.empty()) return "";
  std::error_code ignored;
  if (name.find('/') != std::string::npos) {
    const fs::path file = fs::path(directory.empty() ? "." : directory) / name;
    return fs::is_regular_file(file, ignored) ? file.lexically_normal().string() : "";
  }
  for (size_t begin = 0; begin <= path_variable.size();) {
    size_t end = path_variable.find(':', begin);
    if (end == std::string_view::npos) end = path_variable.size();
    const fs::path file = fs::path(path_variable.substr(begin, end - begin)) / name;
    if (fs::is_regular_file(file, ignored) && access(file.c_str(), X_OK) == 0) return file.string();
    begin = end + 1;
  }
  return "";
}

std::string first_program_of(std::string_view shell_text) {
  for (const std::string& word : words(shell_text)) {
    if (is_assignment(word) || word == "exec" || word == "env" || word == "nohup") continue;
    // Anything but a plain word is the shell's own business.
    if (word.find_first_of("$`'\"(){};&|<>*?") != std::string::npos) return "";
    if (word == "cd" || word == "if" || word == "for" || word == "while") return "";
    return word;
  }
  return "";
}

std::vector<ProgramCheck> check_command(const std::vector<std::string>& argv,
                                        const std::string& directory,
                                        std::string_view path_variable) {
  std::vector<ProgramCheck> out;
  if (argv.empty()) return out;
  const std::string program = find_program(argv[0], directory, path_variable);
  check_file(program, "", directory, path_variable, 0, &out);
  const std::string name = std::filesystem::path(argv[0]).filename().string();
  std::string inner;
  if (argv.size() >= 3 && argv[1] == "-c" && (name == "sh" || name == "bash" || name == "dash")) {
    inner = first_program_of(argv[2]);
  } else if (name == "env") {
    inner = after_env(argv);
  }
  if (!inner.empty()) {
    check_file(find_program(inner, directory, path_variable), argv[0], directory, path_variable, 1,
               &out);
  }
  return out;
}

}  // namespace filibuster
