// Reads the members of a JSON object, and keeps what is wrong with the first one that is.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/hash.h"

namespace filibuster {

struct MemberReader {
  const nlohmann::ordered_json& object;
  const char* what;
  std::string problem;  // the first one

  void fail(const char* name, const char* expected) {
    if (problem.empty()) problem = std::string(what) + "." + name + ": expected " + expected;
  }
  void text(const char* name, std::string* out) {
    const auto at = object.find(name);
    if (at == object.end() || !at->is_string()) return fail(name, "a text");
    *out = at->get<std::string>();
  }
  void texts(const char* name, std::vector<std::string>* out) {
    const auto at = object.find(name);
    if (at == object.end() || !at->is_array()) return fail(name, "a list of texts");
    for (const nlohmann::ordered_json& one : *at) {
      if (!one.is_string()) return fail(name, "a list of texts");
      out->push_back(one.get<std::string>());
    }
  }
  // Reads a member that older files do not have.
  void later_text(const char* name, std::string* out) {
    if (object.contains(name)) text(name, out);
  }
  void later_ports(const char* name, std::map<std::string, uint16_t>* out) {
    constexpr uint64_t kLastPort = 65535;
    const auto at = object.find(name);
    if (at == object.end()) return;
    if (!at->is_object()) return fail(name, "names with port numbers");
    for (const auto& [port, number] : at->items()) {
      if (!number.is_number_unsigned() || number.get<uint64_t>() > kLastPort) {
        return fail(name, "names with port numbers");
      }
      out->emplace(port, number.get<uint16_t>());
    }
  }
  void hash(const char* name, Hash128* out) {
    std::string digits;
    text(name, &digits);
    if (!digits.empty() && !from_hex(digits, out)) fail(name, "32 hexadecimal digits");
  }
  void number(const char* name, uint32_t* out) {
    const auto at = object.find(name);
    if (at == object.end() || !at->is_number_unsigned()) return fail(name, "a number");
    *out = at->get<uint32_t>();
  }
};

}  // namespace filibuster
