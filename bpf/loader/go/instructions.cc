#include "bpf/loader/go/instructions.h"

#include <capstone/capstone.h>

#include <string>

namespace filibuster::bpf {
namespace {

class Decoder {
 public:
  Decoder() {
    if (cs_open(CS_ARCH_X86, CS_MODE_64, &handle_) != CS_ERR_OK) return;
    cs_option(handle_, CS_OPT_DETAIL, CS_OPT_ON);
    instruction_ = cs_malloc(handle_);
  }
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;
  ~Decoder() {
    if (instruction_ != nullptr) cs_free(instruction_, 1);
    if (handle_ != 0) cs_close(&handle_);
  }

  // Calls `see(const cs_insn&)` for each instruction. The address of what cannot be decoded; nullopt: all could.
  template <typename See>
  std::optional<uint64_t> each(std::string_view code, uint64_t address, const See& see) {
    if (instruction_ == nullptr) return address;
    const auto* at = reinterpret_cast<const uint8_t*>(code.data());
    size_t left = code.size();
    while (left > 0) {
      if (!cs_disasm_iter(handle_, &at, &left, &address, instruction_)) return address;
      see(*instruction_);
    }
    return std::nullopt;
  }

 private:
  csh handle_ = 0;
  cs_insn* instruction_ = nullptr;
};

template <typename Wanted>
Result<std::vector<uint64_t>> find(std::string_view code, uint64_t address, const Wanted& wanted) {
  std::vector<uint64_t> found;
  Decoder decoder;
  const auto failed = decoder.each(code, address, [&](const cs_insn& instruction) {
    if (wanted(instruction)) found.push_back(instruction.address);
  });
  if (failed) {
    return Error{"the instruction at " + std::to_string(*failed) + " cannot be decoded"};
  }
  return found;
}

}  // namespace

Result<std::vector<uint64_t>> return_instructions(std::string_view code, uint64_t address) {
  return find(code, address, [](const cs_insn& instruction) {
    return instruction.id == X86_INS_RET || instruction.id == X86_INS_RETF;
  });
}

Result<std::vector<uint64_t>> calls_to(uint64_t target, std::string_view code, uint64_t address) {
  return find(code, address, [&](const cs_insn& instruction) {
    const cs_x86& x86 = instruction.detail->x86;
    return instruction.id == X86_INS_CALL && x86.op_count == 1 &&
           x86.operands[0].type == X86_OP_IMM &&
           static_cast<uint64_t>(x86.operands[0].imm) == target;
  });
}

std::optional<int32_t> thread_displacement(std::string_view code, uint64_t address) {
  std::optional<int32_t> found;
  Decoder decoder;
  decoder.each(code, address, [&](const cs_insn& instruction) {
    const cs_x86& x86 = instruction.detail->x86;
    for (uint8_t i = 0; i < x86.op_count && !found; ++i) {
      const cs_x86_op& operand = x86.operands[i];
      if (operand.type == X86_OP_MEM && operand.mem.segment == X86_REG_FS && operand.mem.disp < 0 &&
          operand.mem.base == X86_REG_INVALID && operand.mem.index == X86_REG_INVALID) {
        found = static_cast<int32_t>(operand.mem.disp);
      }
    }
  });
  return found;
}

}  // namespace filibuster::bpf
