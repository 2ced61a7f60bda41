#include "core/program/go_table.h"

namespace filibuster {
namespace {

// Inlined calls that one address stands for.
constexpr size_t kMostInlined = 32;

// Of _func: pairs of layouts differ by a first field of 8 bytes (1.16), and by one more field (1.20).
enum Field : unsigned { kName = 0, kFiles = 4, kLines = 5, kValues = 6, kUnit = 7 };
// Which of a function's lists of values, and of its data, tell of inlined calls (runtime/symtab.go).
constexpr uint32_t kInlinedIndex = 2;
constexpr uint32_t kInlinedCalls = 3;

struct Header {
  uint32_t magic;
  uint8_t zero[2], step, pointer;
  uint64_t functions, files;
  uint64_t rest[6];
};
constexpr uint32_t kMagic116 = 0xfffffffa, kMagic118 = 0xfffffff0, kMagic120 = 0xfffffff1;

bool plausible(const Header& header) {
  return (header.magic == kMagic116 || header.magic == kMagic118 || header.magic == kMagic120) &&
         header.zero[0] == 0 && header.zero[1] == 0 && header.pointer == 8 &&
         (header.step == 1 || header.step == 4) && header.functions > 0;
}

// LEB128. False: the bytes end before it does.
bool read_varint(std::string_view* bytes, uint32_t* out) {
  *out = 0;
  for (unsigned shift = 0; !bytes->empty() && shift < 35; shift += 7) {
    const uint8_t byte = static_cast<uint8_t>(bytes->front());
    bytes->remove_prefix(1);
    *out |= static_cast<uint32_t>(byte & 0x7f) << (shift & 31);
    if (byte < 0x80) return true;
  }
  return false;
}

std::string_view behind(std::string_view bytes, uint64_t offset) {
  return offset > bytes.size() ? std::string_view() : bytes.substr(offset);
}

}  // namespace

uint32_t GoTable::Record::field(unsigned index) const {
  uint32_t value = 0;
  read_at(bytes, index * uint64_t{4}, &value);
  return value;
}

Result<GoTable> GoTable::read(const ElfMemory& program) {
  GoTable table;
  for (const std::string_view name : {".gopclntab", ".data.rel.ro.gopclntab"}) {
    const auto section = program.section(name);
    if (section && table.open(program, section->content, section->address)) return table;
  }
  // Linked together with C, or without names of sections: it is known by its beginning, which is aligned.
  for (uint64_t i = 0; i < program.segments().count(); ++i) {
    const Elf64_Phdr segment = program.segments()[i];
    if (segment.p_type != PT_LOAD) continue;
    const std::string_view bytes = program.at(segment.p_vaddr, segment.p_filesz);
    for (uint64_t at = 0; at + sizeof(Header) <= bytes.size(); at += 8) {
      if (static_cast<uint8_t>(bytes[at + 3]) != 0xff) continue;
      Header header;
      if (!read_at(bytes, at, &header) || !plausible(header)) continue;
      if (table.open(program, bytes.substr(at), segment.p_vaddr + at)) return table;
    }
  }
  return Error{
      "no table of functions of Go 1.16 or later (.gopclntab) stands in the program: it was "
      "built by an older Go, by another compiler, or is no Go program"};
}

bool GoTable::open(const ElfMemory& program, std::string_view bytes, uint64_t address) {
  Header header;
  if (!read_at(bytes, 0, &header) || !plausible(header)) return false;
  layout_ = header.magic == kMagic116   ? Layout::k116
            : header.magic == kMagic118 ? Layout::k118
                                        : Layout::k120;
  const bool relative = layout_ != Layout::k116;  // entries count from the start of the text
  const uint64_t* offsets = header.rest + (relative ? 1 : 0);
  names_ = behind(bytes, offsets[0]);
  units_ = behind(bytes, offsets[1]);
  files_ = behind(bytes, offsets[2]);
  values_ = behind(bytes, offsets[3]);
  functions_ = behind(bytes, offsets[4]);
  count_ = header.functions;
  step_ = header.step;
  text_ = 0;
  if (relative) {
    text_ = program.pointer(address + offsetof(Header, rest));
    if (text_ == 0) {  // Go 1.26 writes none
      const auto text = program.section(".text");
      if (!text) return false;
      text_ = text->address;
    }
  }
  // One more entry than functions: the end of the last one.
  const uint64_t width = relative ? 4 : 8;
  if (names_.empty() || values_.empty() || count_ >= functions_.size() / (2 * width)) return false;
  if (entry_of(0) == 0 || entry_of(count_) <= entry_of(0)) return false;
  inlining_ = {};
  if (relative) find_inlining(program, address);
  return true;
}

// The runtime's own description of the program (moduledata) begins with the address of the table, and says where the data is.
void GoTable::find_inlining(const ElfMemory& program, uint64_t address) {
  const uint64_t text_at = 176, data_at = layout_ == Layout::k118 ? 304 : 320;
  const auto accept = [&](uint64_t module) {
    if (program.pointer(module + text_at) != text_) return false;
    inlining_ = program.from(program.pointer(module + data_at));
    return true;
  };
  if (const auto module = program.relocated_to(address); module && accept(*module)) return;
  for (uint64_t i = 0; i < program.segments().count(); ++i) {
    const Elf64_Phdr segment = program.segments()[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) != 0) continue;
    const std::string_view bytes = program.at(segment.p_vaddr, segment.p_filesz);
    const Table<uint64_t> words(bytes, 0, bytes.size() / 8);
    for (uint64_t at = 0; at < words.count(); ++at) {
      if (words[at] == address && accept(segment.p_vaddr + at * 8)) return;
    }
  }
}

uint64_t GoTable::entry_of(uint64_t index) const {
  if (layout_ == Layout::k116) {
    uint64_t entry = 0;
    read_at(functions_, index * 16, &entry);
    return entry;
  }
  uint32_t entry = 0;
  read_at(functions_, index * 8, &entry);
  return text_ + entry;
}

GoTable::Record GoTable::record(uint64_t index) const {
  Record found{entry_of(index), entry_of(index + 1), {}};
  uint64_t offset = 0;
  if (layout_ == Layout::k116) {
    read_at(functions_, index * 16 + 8, &offset);
    offset += 8;
  } else {
    uint32_t small = 0;
    read_at(functions_, index * 8 + 4, &small);
    offset = uint64_t{small} + 4;
  }
  found.bytes = behind(functions_, offset);  // from the field that follows the entry
  return found;
}

std::optional<uint64_t> GoTable::index_at(uint64_t address) const {
  if (address < entry_of(0) || address >= entry_of(count_)) return std::nullopt;
  uint64_t low = 0, high = count_;  // entry_of(low) <= address < entry_of(high)
  while (high - low > 1) {
    const uint64_t middle = low + (high - low) / 2;
    (entry_of(middle) <= address ? low : high) = middle;
  }
  return low;
}

std::string_view GoTable::name_of(const Record& record) const {
  return text_at(names_, record.field(kName));
}

std::optional<GoFunction> GoTable::function_named(std::string_view name) const {
  for (uint64_t i = 0; i < count_; ++i) {
    const Record found = record(i);
    if (name_of(found) == name) return GoFunction{name, found.entry, found.end};
  }
  return std::nullopt;
}

// A list of values, each with how many bytes of the function it holds for (runtime.pcvalue). -1: no value.
int32_t GoTable::value_at(uint32_t table, uint64_t entry, uint64_t address) const {
  if (table == 0) return -1;
  std::string_view bytes = behind(values_, table);
  int32_t value = -1;
  uint64_t end = entry;
  uint32_t change = 0, length = 0;
  for (bool first = true; read_varint(&bytes, &change) && (change != 0 || first); first = false) {
    if (!read_varint(&bytes, &length)) return -1;
    const uint32_t signed_change = (change >> 1) ^ (0u - (change & 1));  // zigzag
    value = static_cast<int32_t>(static_cast<uint32_t>(value) + signed_change);
    end += uint64_t{length} * step_;
    if (address < end) return value;
  }
  return -1;
}

GoFrame GoTable::place(const Record& record, uint64_t address) const {
  GoFrame frame;
  frame.function = name_of(record);
  frame.line = value_at(record.field(kLines), record.entry, address);
  const int32_t file = value_at(record.field(kFiles), record.entry, address);
  if (file < 0) return frame;
  uint32_t offset = 0;
  const uint64_t unit = uint64_t{record.field(kUnit)} + static_cast<uint32_t>(file);
  if (read_at(units_, unit * 4, &offset)) frame.file = text_at(files_, offset);
  return frame;
}

std::vector<GoFrame> GoTable::frames_at(uint64_t address) const {
  const auto index = index_at(address);
  if (!index) return {};
  const Record found = record(*index);
  std::vector<GoFrame> frames;
  // Behind the fixed fields stand the offsets of the lists of values, and those of the data.
  const unsigned lists = layout_ == Layout::k120 ? 10 : 9;
  const uint32_t list_count = found.field(kValues), kinds = found.field(lists - 1);
  const uint32_t data = list_count < 256 ? found.field(lists + list_count + kInlinedCalls) : 0;
  const bool inlines = !inlining_.empty() && list_count > kInlinedIndex && list_count < 256 &&
                       (kinds >> 24) > kInlinedCalls && data != ~0u;
  while (inlines && frames.size() < kMostInlined) {
    const int32_t call = value_at(found.field(lists + kInlinedIndex), found.entry, address);
    if (call < 0) break;
    // struct inlinedCall {int16 parent; uint8 id, pad; int32 file, line, name, pc} until 1.19, then {uint8 id, pad[3]; int32
    // name, pc, start}.
    const bool later = layout_ == Layout::k120;
    const uint64_t at = data + static_cast<uint64_t>(call) * (later ? 16 : 20);
    uint32_t name = 0, position = 0;
    if (!read_at(inlining_, at + (later ? 4 : 12), &name) ||
        !read_at(inlining_, at + (later ? 8 : 16), &position) ||
        position >= found.end - found.entry || name >= names_.size()) {
      break;
    }
    GoFrame frame = place(found, address);
    frame.function = text_at(names_, name);
    frame.inlined = true;
    frames.push_back(frame);
    address = found.entry + position;
  }
  frames.push_back(place(found, address));
  return frames;
}

}  // namespace filibuster
