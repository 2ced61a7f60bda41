#include "core/program/entry_text.h"

namespace filibuster {
namespace {

struct MachineRow {
  uint16_t machine;
  const char* name;
};
constexpr MachineRow kMachines[] = {
    {EM_X86_64, "x86-64"}, {EM_386, "32-bit x86"}, {EM_AARCH64, "arm64"}, {EM_ARM, "32-bit arm"},
    {EM_RISCV, "riscv"},   {EM_S390, "s390"},      {EM_PPC64, "ppc64"}};

std::string machine_name(uint16_t machine) {
  for (const MachineRow& row : kMachines) {
    if (row.machine == machine) return row.name;
  }
  return "machine " + std::to_string(machine);
}

}  // namespace

std::string obstacle_text(Entry entry, uint16_t machine, std::string_view loader) {
  switch (entry) {
    case Entry::kByGlibc:
      return "";
    case Entry::kStatic:
      return "is statically linked: no library can be preloaded into it";
    case Entry::kMusl:
      return "is linked with musl, which cannot load a library that is linked with glibc: it is "
             "started without libfilibuster.so";
    case Entry::kOtherLoader:
      return "is loaded by " + std::string(loader) + ", not by glibc's loader";
    case Entry::kOtherMachine:
      return "is built for " + machine_name(machine) + ", libfilibuster.so for " +
             machine_name(kNativeMachine);
  }
  return "";
}

std::string obstacle_text(Gain gain) {
  switch (gain) {
    case Gain::kNone:
      return "";
    case Gain::kUser:
      return "is setuid: the loader ignores LD_PRELOAD for it";
    case Gain::kGroup:
      return "is setgid: the loader ignores LD_PRELOAD for it";
    case Gain::kCapabilities:
      return "has file capabilities: the loader ignores LD_PRELOAD for it";
  }
  return "";
}

}  // namespace filibuster
