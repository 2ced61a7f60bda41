#include "daemon/proxy/stack_texts.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>

#include "core/program/mapped_file.h"
#include "core/text/number.h"
#include "daemon/base/file_text.h"

namespace filibuster::proxy {
namespace {

uint64_t take_number(std::string_view* text, char end) {
  uint64_t value = 0;
  const auto [at, error] = std::from_chars(text->data(), text->data() + text->size(), value, 16);
  text->remove_prefix(static_cast<size_t>(at - text->data()));
  if (error != std::errc() || text->empty() || text->front() != end) {
    *text = {};
    return 0;
  }
  text->remove_prefix(1);
  return value;
}

// "555555554000-555555558000 r-xp 00001000 fe:00 123   /usr/bin/users"
std::optional<Mapping> mapping_of(std::string_view line) {
  Mapping mapping;
  mapping.begin = take_number(&line, '-');
  mapping.end = take_number(&line, ' ');
  const bool executable = line.size() > 2 && line[2] == 'x';
  line.remove_prefix(std::min(line.size(), line.find(' ') + 1));
  mapping.offset = take_number(&line, ' ');
  if (!executable || mapping.end <= mapping.begin) return std::nullopt;
  if (const size_t path = line.find('/'); path != std::string_view::npos)
    mapping.path = line.substr(path);
  return mapping;
}

std::string whole_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return text_of(file);
}

const Mapping* find(const std::vector<Mapping>& mappings, uint64_t address) {
  const auto after = std::upper_bound(
      mappings.begin(), mappings.end(), address,
      [](uint64_t value, const Mapping& mapping) { return value < mapping.begin; });
  if (after == mappings.begin() || address >= std::prev(after)->end) return nullptr;
  return &*std::prev(after);
}

}  // namespace

std::vector<Mapping> executable_mappings(std::string_view maps) {
  std::vector<Mapping> out;
  while (!maps.empty()) {
    const size_t end = std::min(maps.find('\n'), maps.size());
    if (auto mapping = mapping_of(maps.substr(0, end))) out.push_back(std::move(*mapping));
    maps.remove_prefix(std::min(maps.size(), end + 1));
  }
  std::sort(out.begin(), out.end(),
            [](const Mapping& a, const Mapping& b) { return a.begin < b.begin; });
  return out;
}

const StackTexts::Module& StackTexts::module(uint32_t pid, const std::string& path) {
  // The process may see other files than we do (a container).
  const std::string seen = "/proc/" + std::to_string(pid) + "/root" + path;
  std::unique_ptr<Module>& known = modules_[std::to_string(pid) + path];
  if (known != nullptr) return *known;
  known = std::make_unique<Module>();
  const MappedFile file(seen);
  known->segments = read_elf_segments(file.bytes());
  if (go_ && known->segments) known->go = go_(seen);
  return *known;
}

std::string StackTexts::line(const Process& process, uint32_t pid, uint64_t address) {
  const Mapping* mapping = find(process.mappings, address);
  if (mapping == nullptr || mapping->path.empty()) return "?";
  const Module& file = module(pid, mapping->path);
  if (!file.segments) return "?";
  const auto linked = file.segments->address_of(address - mapping->begin + mapping->offset);
  if (!linked) return "?";
  if (file.go) {
    const std::string line = file.go(*linked);
    return line.empty() ? "?" : "F " + line;
  }
  char digits[20];
  const std::string_view id = file.segments->build_id;
  return std::string("N ") + std::string(id.empty() ? "-" : id) + "+" +
         std::string(number_text(*linked, 16, digits)) + " " + mapping->path;
}

uint32_t StackTexts::number(uint32_t pid, std::span<const uint64_t> addresses,
                            bool no_frame_pointers) {
  if (addresses.empty()) return 0;
  Process& process = processes_[pid];
  std::string key(reinterpret_cast<const char*>(addresses.data()), addresses.size_bytes());
  key += no_frame_pointers ? 'E' : ' ';
  if (const auto known = process.numbers.find(key); known != process.numbers.end())
    return known->second;
  if (process.numbers.size() >= kMost) return 0;
  // A library may have been loaded since. (Code that is made at run time has a mapping, too.)
  const bool all = std::all_of(addresses.begin(), addresses.end(), [&](uint64_t address) {
    return find(process.mappings, address - 1) != nullptr;
  });
  if (!all)
    process.mappings = executable_mappings(whole_file("/proc/" + std::to_string(pid) + "/maps"));
  std::string text = no_frame_pointers ? "E\n" : "";
  // A return address may be the first byte of another line or function; the call is before it.
  for (const uint64_t address : addresses) text += line(process, pid, address - 1) + "\n";
  uint32_t number = 0;
  if (const auto same = by_text_.find(text); same != by_text_.end()) {
    number = same->second;
  } else if (texts_.size() < kMost) {
    texts_.push_back(std::move(text));
    number = static_cast<uint32_t>(texts_.size());
    by_text_.emplace(texts_.back(), number);
  }
  process.numbers.emplace(std::move(key), number);
  return number;
}

std::string_view StackTexts::text(uint32_t number) const {
  return number == 0 || number > texts_.size() ? std::string_view() : texts_[number - 1];
}

void StackTexts::exited(uint32_t pid) {
  processes_.erase(pid);
  const std::string prefix = std::to_string(pid) + "/";
  std::erase_if(modules_, [&](const auto& entry) { return entry.first.starts_with(prefix); });
}

}  // namespace filibuster::proxy
