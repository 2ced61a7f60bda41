// Class files (JVMS 4) written by hand, for the editor's tests.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace filibuster::preload::jvm {

using Bytes = std::vector<uint8_t>;

inline void put(Bytes* out, uint64_t value, int size) {
  for (int i = size - 1; i >= 0; --i) out->push_back(static_cast<uint8_t>(value >> (8 * i)));
}
inline void put(Bytes* out, std::string_view text) {
  out->insert(out->end(), text.begin(), text.end());
}
inline void put(Bytes* out, const Bytes& bytes) {
  out->insert(out->end(), bytes.begin(), bytes.end());
}

class Constants {
 public:
  uint16_t utf8(std::string_view text) {
    put(&bytes_, 1, 1);
    put(&bytes_, text.size(), 2);
    put(&bytes_, text);
    return next_++;
  }
  uint16_t type(std::string_view name) {
    const uint16_t text = utf8(name);
    put(&bytes_, 7, 1);
    put(&bytes_, text, 2);
    return next_++;
  }
  // 10: of a class; 11: of an interface.
  uint16_t method(uint8_t tag, std::string_view owner, std::string_view name,
                  std::string_view descriptor) {
    const uint16_t owner_index = type(owner);
    const uint16_t name_index = utf8(name), descriptor_index = utf8(descriptor);
    put(&bytes_, 12, 1);
    put(&bytes_, name_index, 2);
    put(&bytes_, descriptor_index, 2);
    const uint16_t both = next_++;
    put(&bytes_, tag, 1);
    put(&bytes_, owner_index, 2);
    put(&bytes_, both, 2);
    return next_++;
  }
  uint16_t number(uint64_t value) {  // a long: takes two places
    put(&bytes_, 5, 1);
    put(&bytes_, value, 8);
    next_ += 2;
    return static_cast<uint16_t>(next_ - 2);
  }
  uint16_t raw(const Bytes& bytes) {
    put(&bytes_, bytes);
    return next_++;
  }
  uint16_t count() const { return next_; }
  const Bytes& bytes() const { return bytes_; }

 private:
  Bytes bytes_;
  uint16_t next_ = 1;
};

// A class with one field and one method `run()V`.
struct ClassRecipe {
  Constants constants;
  Bytes code{177};                // return
  Bytes handlers;                 // rows of 8 bytes
  std::vector<Bytes> attributes;  // of the code, whole
  uint16_t stack = 0;
  std::string name = "run", descriptor = "()V";

  Bytes attribute(std::string_view of, const Bytes& content) {
    Bytes out;
    put(&out, constants.utf8(of), 2);
    put(&out, content.size(), 4);
    put(&out, content);
    return out;
  }
  Bytes file() {
    const uint16_t self = constants.type("app/Self"), parent = constants.type("java/lang/Object");
    const uint16_t method_name = constants.utf8(name);
    const uint16_t method_descriptor = constants.utf8(descriptor);
    const uint16_t code_name = constants.utf8("Code"), constant = constants.utf8("ConstantValue");
    Bytes out;
    put(&out, 0xCAFEBABE, 4);
    put(&out, 61, 4);  // 61.0: Java 17
    put(&out, constants.count(), 2);
    put(&out, constants.bytes());
    put(&out, 0x21, 2);
    put(&out, self, 2);
    put(&out, parent, 2);
    put(&out, 1, 2);  // interfaces
    put(&out, parent, 2);
    put(&out, 1, 2);  // fields
    put(&out, 0, 6);
    put(&out, 1, 2);
    put(&out, constant, 2);
    put(&out, 2, 4);
    put(&out, 0, 2);
    put(&out, 1, 2);  // methods
    put(&out, 1, 2);
    put(&out, method_name, 2);
    put(&out, method_descriptor, 2);
    put(&out, 1, 2);
    put(&out, code_name, 2);
    Bytes body;
    put(&body, stack, 2);
    put(&body, 4, 2);  // locals
    put(&body, code.size(), 4);
    put(&body, code);
    put(&body, handlers.size() / 8, 2);
    put(&body, handlers);
    put(&body, attributes.size(), 2);
    for (const Bytes& one : attributes) put(&body, one);
    put(&out, body.size(), 4);
    put(&out, body);
    put(&out, 0, 2);  // attributes of the class
    return out;
  }
};

// What an edited class has in its method, read back.
struct MethodFound {
  uint16_t stack = 0;
  Bytes code, handlers;
  std::vector<Bytes> attributes;  // contents, in order
};

class ClassReader {
 public:
  explicit ClassReader(const Bytes& bytes) : bytes_(bytes) {}

  MethodFound method() {
    at_ = 8;
    constants_ = number(2);
    for (uint64_t i = 1; i < constants_; ++i) {
      switch (number(1)) {
        case 1:
          at_ += number(2);
          break;
        case 5:
          at_ += 8;
          ++i;
          break;
        case 7:
          at_ += 2;
          break;
        default:
          at_ += 4;
      }
    }
    at_ += 6;
    at_ += 2 * number(2);
    at_ += 2 + 6 + 2 + 2 + 4 + 2;  // the field
    at_ += 2 + 6 + 2 + 2 + 4;      // the method's Code
    MethodFound found;
    found.stack = static_cast<uint16_t>(number(2));
    at_ += 2;
    found.code = take(number(4));
    found.handlers = take(8 * number(2));
    for (uint64_t n = number(2); n > 0; --n) {
      at_ += 2;
      found.attributes.push_back(take(number(4)));
    }
    return found;
  }
  uint64_t constants() const { return constants_; }

 private:
  uint64_t number(int size) {
    uint64_t value = 0;
    for (int i = 0; i < size; ++i) value = value << 8 | bytes_.at(at_++);
    return value;
  }
  Bytes take(uint64_t size) {
    Bytes out;
    for (; size > 0; --size) out.push_back(bytes_.at(at_++));
    return out;
  }

  const Bytes& bytes_;
  size_t at_ = 0;
  uint64_t constants_ = 0;
};

}  // namespace filibuster::preload::jvm
