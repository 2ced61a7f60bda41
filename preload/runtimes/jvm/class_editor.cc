#include "preload/runtimes/jvm/class_editor.h"

#include "preload/runtimes/jvm/bytes.h"

namespace filibuster::preload::jvm {
namespace {

enum Tag : uint8_t {
  kUtf8 = 1,
  kLong = 5,
  kDouble = 6,
  kClass = 7,
  kMethodref = 10,
  kInterfaceMethodref = 11,
  kNameAndType = 12,
};

enum Opcode : uint8_t {
  kNop = 0,
  kAload = 25,
  kAload0 = 42,
  kAstore = 58,
  kTableSwitch = 170,
  kLookupSwitch = 171,
  kInvokeVirtual = 182,
  kInvokeStatic = 184,
  kInvokeInterface = 185,
  kIinc = 132,
  kWide = 196,
};

constexpr size_t kMaxPrologue = 64;

// Size of an instruction, if its first byte tells it (JVMS 6.5); else 0.
size_t plain_size(uint8_t opcode) {
  struct Range {
    uint8_t last, size;
  };
  constexpr Range kRanges[] = {
      {15, 1},  {16, 2},  {17, 3},  {18, 2},  {20, 3},  {25, 2},  {53, 1},  {58, 2},  {131, 1},
      {132, 3}, {152, 1}, {168, 3}, {169, 2}, {171, 0}, {177, 1}, {184, 3}, {186, 5}, {187, 3},
      {188, 2}, {189, 3}, {191, 1}, {193, 3}, {195, 1}, {196, 0}, {197, 4}, {199, 3}, {201, 5},
  };
  for (const Range& range : kRanges) {
    if (opcode <= range.last) return range.size;
  }
  return 0;
}

bool fits(std::string_view pattern, std::string_view descriptor) {
  if (!pattern.ends_with('*')) return pattern == descriptor;
  return descriptor.starts_with(pattern.substr(0, pattern.size() - 1));
}

class Editor {
 public:
  Editor(std::span<const uint8_t> file, std::span<const Edit> edits, std::span<uint32_t> constants,
         std::span<uint8_t> out)
      : in_{file}, out_{out}, edits_(edits), constants_(constants) {}

  EditResult run() {
    if (edits_.size() > kMaxEdits || in_.u4() != 0xCAFEBABE) return {};
    in_.u4();  // version
    if (!read_constants()) return {};
    out_.put(in_.bytes.first(in_.at));
    add_constants();
    out_.patch(8, first_new_ + 6 * static_cast<uint32_t>(edits_.size()), 2);

    copy(6);                // access, this, super
    copy(2 * number_of());  // interfaces
    for (uint32_t fields = number_of(); fields > 0 && in_.ok; --fields) {
      copy(6);
      for (uint32_t n = number_of(); n > 0 && in_.ok; --n) copy_attribute();
    }
    for (uint32_t methods = number_of(); methods > 0 && in_.ok; --methods) method();
    copy(in_.left());
    if (!in_.ok || !out_.ok) return {};
    return {out_.at, done_};
  }

 private:
  bool read_constants() {
    first_new_ = in_.u2();
    if (first_new_ == 0 || first_new_ > constants_.size() ||
        first_new_ + 6 * edits_.size() > 0xffff)
      return false;
    for (uint32_t i = 1; i < first_new_ && in_.ok; ++i) {
      constants_[i] = static_cast<uint32_t>(in_.at);
      switch (in_.u1()) {
        case kUtf8:
          in_.take(in_.u2());
          break;
        case kLong:
        case kDouble:
          in_.take(8);
          if (++i == first_new_) return false;  // takes two places
          constants_[i] = 0;
          break;
        case kClass:
        case 8:   // String
        case 16:  // MethodType
        case 19:  // Module
        case 20:  // Package
          in_.take(2);
          break;
        case 15:  // MethodHandle
          in_.take(3);
          break;
        case 3:  // Integer
        case 4:  // Float
        case 9:  // Fieldref
        case kMethodref:
        case kInterfaceMethodref:
        case kNameAndType:
        case 17:  // Dynamic
        case 18:  // InvokeDynamic
          in_.take(4);
          break;
        default:
          return false;
      }
    }
    return in_.ok;
  }

  // Adds six constants for each edit; the last of them is the method to call.
  void add_constants() {
    uint32_t next = first_new_;
    for (const Edit& edit : edits_) {
      for (std::string_view text : {edit.helper.type, edit.helper.name, edit.helper.descriptor}) {
        out_.u1(kUtf8);
        out_.u2(static_cast<uint32_t>(text.size()));
        out_.put(text);
      }
      out_.u1(kClass);
      out_.u2(next);
      out_.u1(kNameAndType);
      out_.u2(next + 1);
      out_.u2(next + 2);
      out_.u1(kMethodref);
      out_.u2(next + 3);
      out_.u2(next + 4);
      next += 6;
    }
  }
  uint32_t helper_of(size_t edit) const { return first_new_ + 6 * static_cast<uint32_t>(edit) + 5; }

  // A reader of what follows the tag of constant `index`. It is not `ok` if the tag is another one.
  Reader constant(uint32_t index, uint8_t tag) const {
    Reader reader{in_.bytes};
    reader.ok = index > 0 && index < first_new_ && constants_[index] != 0;
    if (!reader.ok) return reader;
    reader.at = constants_[index];
    if (reader.u1() != tag) reader.ok = false;
    return reader;
  }
  std::string_view utf8(uint32_t index) const {
    Reader reader = constant(index, kUtf8);
    const std::span<const uint8_t> text = reader.take(reader.u2());
    return {reinterpret_cast<const char*>(text.data()), text.size()};
  }
  bool is_method(uint32_t index, const Method& method) const {
    Reader reference = constant(index, kMethodref);
    if (!reference.ok) reference = constant(index, kInterfaceMethodref);
    if (!reference.ok) return false;
    Reader type = constant(reference.u2(), kClass);
    Reader name = constant(reference.u2(), kNameAndType);
    return utf8(type.u2()) == method.type && utf8(name.u2()) == method.name &&
           utf8(name.u2()) == method.descriptor;
  }

  std::span<const uint8_t> copy(size_t size) {
    const std::span<const uint8_t> bytes = in_.take(size);
    out_.put(bytes);
    return bytes;
  }
  uint32_t number_of() {
    const uint16_t number = in_.u2();
    out_.u2(number);
    return number;
  }
  void copy_attribute() {
    copy(2);
    const uint32_t size = in_.u4();
    out_.u4(size);
    copy(size);
  }

  void method() {
    copy(2);
    const uint16_t name = in_.u2(), descriptor = in_.u2();
    out_.u2(name);
    out_.u2(descriptor);
    uint32_t wanted = 0;
    for (size_t i = 0; i < edits_.size(); ++i) {
      if (edits_[i].in.name == utf8(name) && fits(edits_[i].in.descriptor, utf8(descriptor)))
        wanted |= 1u << i;
    }
    for (uint32_t n = number_of(); n > 0 && in_.ok; --n) {
      Reader ahead = in_;
      if (wanted != 0 && utf8(ahead.u2()) == "Code") {
        code(wanted);
      } else {
        copy_attribute();
      }
    }
  }

  // Writes what is put in front of the code; returns its size. (Edit::slot is a byte, so no instruction
  // needs the wide form.)
  size_t prologue(uint32_t wanted, uint8_t (&bytes)[kMaxPrologue]) {
    Writer w{bytes};
    for (size_t i = 0; i < edits_.size(); ++i) {
      const Edit& edit = edits_[i];
      if ((wanted >> i & 1) == 0 || edit.kind == Edit::Kind::kCall) continue;
      if (edit.with_this) w.u1(kAload0);
      if (edit.kind != Edit::Kind::kEnter) w.u2(static_cast<uint32_t>(kAload << 8 | edit.slot));
      w.u1(kInvokeStatic);
      w.u2(helper_of(i));
      if (edit.kind == Edit::Kind::kArgument) w.u2(static_cast<uint32_t>(kAstore << 8 | edit.slot));
      done_ |= 1u << i;
    }
    while (w.at % 4 != 0) w.u1(kNop);
    if (!w.ok) out_.ok = false;
    return w.ok ? w.at : 0;
  }

  void code(uint32_t wanted) {
    copy(2);
    const Extent extent = begin_extent();
    const uint16_t stack = in_.u2();
    out_.u2(stack < 2 ? 2 : stack);
    copy(2);  // locals
    const uint32_t size = in_.u4();
    uint8_t front[kMaxPrologue];
    moved_ = prologue(wanted, front);
    out_.u4(size + static_cast<uint32_t>(moved_));
    out_.put({front, moved_});
    const size_t code_at = out_.at;
    copy(size);
    if (in_.ok && out_.ok) replace_calls(wanted, out_.bytes.subspan(code_at, size));
    if (size + moved_ > 0xffff) out_.ok = false;  // JVMS 4.7.3

    for (uint32_t handlers = number_of(); handlers > 0 && in_.ok; --handlers) {
      for (int i = 0; i < 3; ++i) position();
      copy(2);
    }
    for (uint32_t n = number_of(); n > 0 && in_.ok; --n) code_attribute();
    end_extent(extent);
  }
  // An attribute whose size changes. It must end where its size says, both in the old file and in the new.
  struct Extent {
    size_t end, size_at, begin;
  };
  Extent begin_extent() {
    const uint32_t size = in_.u4();
    out_.u4(0);
    return {in_.at + size, out_.at - 4, out_.at};
  }
  void end_extent(const Extent& extent) {
    if (in_.at != extent.end) in_.ok = false;
    out_.patch(extent.size_at, static_cast<uint32_t>(out_.at - extent.begin), 4);
  }
  void position() { out_.u2(in_.u2() + static_cast<uint32_t>(moved_)); }

  void replace_calls(uint32_t wanted, std::span<uint8_t> code) {
    for (size_t at = 0; at < code.size();) {
      const uint8_t opcode = code[at];
      size_t size = plain_size(opcode);
      if (size == 0) {
        size = odd_size(code, at);
        if (size == 0) {
          in_.ok = false;
          return;
        }
      }
      if (size > code.size() - at) return;
      if (opcode == kInvokeVirtual || opcode == kInvokeInterface) {
        const uint32_t called = static_cast<uint32_t>(code[at + 1] << 8 | code[at + 2]);
        for (size_t i = 0; i < edits_.size(); ++i) {
          if ((wanted >> i & 1) == 0 || edits_[i].kind != Edit::Kind::kCall ||
              !is_method(called, edits_[i].call))
            continue;
          code[at] = kInvokeStatic;
          code[at + 1] = static_cast<uint8_t>(helper_of(i) >> 8);
          code[at + 2] = static_cast<uint8_t>(helper_of(i));
          for (size_t pad = 3; pad < size; ++pad) code[at + pad] = kNop;
          done_ |= 1u << i;
          break;
        }
      }
      at += size;
    }
  }

  // Size of a switch or a wide instruction; 0: it is neither, or it is cut short.
  static size_t odd_size(std::span<const uint8_t> code, size_t at) {
    Reader reader{code, at};
    const uint8_t opcode = reader.u1();
    if (opcode == kWide) return reader.u1() == kIinc ? 6 : 4;
    if (opcode != kTableSwitch && opcode != kLookupSwitch) return 0;
    reader.take((4 - reader.at % 4) % 4);
    reader.u4();  // default
    const uint32_t first = reader.u4();
    const uint64_t words =
        opcode == kLookupSwitch ? uint64_t{2} * first : uint64_t{reader.u4() - first} + 1;
    reader.take(words * 4);
    return reader.ok ? reader.at - at : 0;
  }

  void code_attribute() {
    Reader ahead = in_;
    const std::string_view name = utf8(ahead.u2());
    const bool stack_map = name == "StackMapTable";
    const bool variables = name == "LocalVariableTable" || name == "LocalVariableTypeTable";
    if (moved_ == 0 || (!stack_map && !variables && name != "LineNumberTable")) {
      // The positions in type annotations of code are not moved: they are for debuggers, and rare.
      copy_attribute();
      return;
    }
    copy(2);
    const Extent extent = begin_extent();
    const uint32_t entries = number_of();
    for (uint32_t i = 0; i < entries && in_.ok; ++i) {
      if (stack_map) {
        frame(i == 0);
      } else {
        position();
        copy(variables ? 8 : 2);
      }
    }
    end_extent(extent);
  }

  // JVMS 4.7.4: only the first frame's position counts from the beginning of the code.
  void frame(bool first) {
    const uint32_t move = first ? static_cast<uint32_t>(moved_) : 0;
    const uint8_t type = in_.u1();
    if (type < 64) {  // same_frame
      if (type + move < 64) {
        out_.u1(type + move);
      } else {
        out_.u1(251);
        out_.u2(type + move);
      }
    } else if (type < 128) {  // same_locals_1_stack_item_frame
      if (type + move < 128) {
        out_.u1(type + move);
      } else {
        out_.u1(247);
        out_.u2(type - 64 + move);
      }
      verification_types(1);
    } else if (type < 247) {
      in_.ok = false;  // reserved
    } else {
      out_.u1(type);
      out_.u2(in_.u2() + move);
      if (type == 247) {
        verification_types(1);
      } else if (type == 255) {
        verification_types(number_of());
        verification_types(number_of());
      } else if (type > 251) {
        verification_types(type - 251u);
      }
    }
  }
  void verification_types(uint32_t count) {
    for (; count > 0 && in_.ok; --count) {
      const uint8_t tag = in_.u1();
      out_.u1(tag);
      if (tag == 7) copy(2);     // Object
      if (tag == 8) position();  // Uninitialized, by the position of its `new`
    }
  }

  Reader in_;
  Writer out_;
  std::span<const Edit> edits_;
  std::span<uint32_t> constants_;
  uint32_t first_new_ = 0;
  size_t moved_ = 0;  // by how many bytes the code of the current method moves
  uint32_t done_ = 0;
};

}  // namespace

EditResult edit_class(std::span<const uint8_t> file, std::span<const Edit> edits,
                      std::span<uint32_t> scratch, std::span<uint8_t> out) {
  return Editor(file, edits, scratch, out).run();
}

}  // namespace filibuster::preload::jvm
