#include "daemon/cases/route.h"

#include <algorithm>

#include "core/index/execution_index.h"
#include "core/index/masks.h"
#include "core/text/ascii.h"

namespace filibuster::cases {
namespace {

constexpr size_t kMostFolderName = 100;
constexpr size_t kLongHex = 16;

bool is_route_digit(char c) {
  return c >= '0' && c <= '9';
}

bool all_digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_route_digit);
}

bool names_an_object(std::string_view segment) {
  if (segment.starts_with('v') && segment.size() <= 3 && all_digits(segment.substr(1)))
    return false;
  if (std::any_of(segment.begin(), segment.end(), is_route_digit)) return true;
  return segment.size() >= kLongHex &&
         std::all_of(segment.begin(), segment.end(), [](char c) { return hex_digit(c) >= 0; });
}

// A route is a text, whatever bytes a target has.
void put_text(std::string* out, std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte > ' ' && byte < 0x7F) {
      *out += c;
    } else {
      out->append({'%', kDigits[byte >> 4], kDigits[byte & 15]});
    }
  }
}

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || is_route_digit(c) || c == '_' || c == '.';
}

}  // namespace

std::string route_of(std::string_view method, std::string_view target) {
  std::string out(method);
  out += ' ';
  const std::string_view path = request_path(method, target);
  if (!path.starts_with('/')) {
    put_text(&out, path);
    return out;
  }
  each_segment(path, [&](uint32_t, std::string_view segment) {
    out += '/';
    put_text(&out, names_an_object(segment) ? "_" : segment);
  });
  return out;
}

std::string route_folder(std::string_view route) {
  std::string out;
  for (const char byte : route) {
    const char c = to_lower(byte);
    const bool dot_first = c == '.' && (out.empty() || out.back() == '-');
    if (is_plain(c) && !dot_first) {
      out += c;
    } else if (!out.empty() && out.back() != '-') {
      out += '-';
    }
    if (out.size() == kMostFolderName) break;
  }
  while (out.ends_with('-')) out.pop_back();
  return out.empty() ? "other" : out;
}

std::string case_name(Hash128 hash, const std::set<std::string>& taken) {
  const std::string digits = to_hex(hash);
  size_t size = kNameDigits;
  while (size < digits.size() && taken.count(digits.substr(0, size)) != 0) ++size;
  return digits.substr(0, size);
}

std::string name_in_path(std::string_view path) {
  path.remove_prefix(path.rfind('/') + 1);
  return std::string(path.substr(0, path.rfind('.')));
}

bool is_plain_file_name(std::string_view name) {
  return !name.empty() && name.front() != '.' &&
         std::all_of(name.begin(), name.end(), [](char c) { return is_plain(c) || c == '-'; });
}

std::string body_file_name(std::string_view case_name, size_t number) {
  return std::string(case_name) + "." + std::to_string(number) + ".bin";
}

}  // namespace filibuster::cases
