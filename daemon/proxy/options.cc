#include "daemon/proxy/options.h"

#include <charconv>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string_view>

#include "bpf/loader/protocol.h"

namespace filibuster::proxy {
namespace {

template <typename Number>
bool read_number(std::string_view text, Number* out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *out);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

template <typename Number>
bool read_list(std::string_view text, size_t most, std::vector<Number>* out) {
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    Number number{};
    if (!read_number(text.substr(0, comma), &number) || number == 0 || out->size() == most)
      return false;
    out->push_back(number);
    text.remove_prefix(std::min(text.size(), comma + 1));
  }
  return true;
}

bool read_address(std::string_view text, std::optional<Address>* out) {
  *out = parse_address(text);
  return out->has_value();
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

Result<Options> parse_options(int count, char** arguments) {
  Options options;
  options.service = environment("FILIBUSTER_SERVICE");
  read_number(environment("FILIBUSTER_LANE"), &options.lane);
  for (int i = 1; i < count; ++i) {
    const std::string_view name = arguments[i];
    if (name == "--go") {
      options.go = true;
      continue;
    }
    if (name == "--watch") {
      options.watch = true;
      continue;
    }
    if (i + 1 == count) return Error{std::string(name) + " is unknown, or its value is missing."};
    const std::string_view value = arguments[++i];
    bool good = true;
    if (name == "--loader-fd") {
      good = read_number(value, &options.loader_fd);
    } else if (name == "--pids") {
      good = read_list(value, bpf::kMaxPids, &options.pids);
    } else if (name == "--ports") {
      good = read_list(value, bpf::kMaxPorts, &options.ports);
    } else if (name == "--program") {
      options.program = value;
    } else if (name == "--fixed") {
      good = read_address(value, &options.fixed);
    } else if (name == "--inner") {
      good = read_address(value, &options.inner);
    } else if (name == "--listen-outbound") {
      good = read_address(value, &options.listen_outbound);
    } else if (name == "--listen-inbound") {
      good = read_address(value, &options.listen_inbound);
    } else if (name == "--events-fd") {
      good = read_number(value, &options.events_fd);
    } else {
      return Error{"There is no option " + std::string(name) + "."};
    }
    if (!good)
      return Error{"'" + std::string(value) + "' is no value of " + std::string(name) + "."};
  }
  if (options.loader_fd < 0 && !options.fixed && !options.inner)
    return Error{
        "Without --loader-fd there is nothing to forward. The daemon starts this program."};
  return options;
}

uint64_t start_time_of(int32_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  // The name in parentheses may hold anything; it is the second field.
  const size_t end = text.rfind(')');
  if (end == std::string::npos) return 0;
  constexpr int kFieldsBetween = 19;
  size_t at = end + 1;
  for (int field = 0; field < kFieldsBetween && at != std::string::npos; ++field)
    at = text.find(' ', at + 1);
  if (at == std::string::npos || at + 1 >= text.size()) return 0;
  uint64_t value = 0;
  std::from_chars(text.data() + at + 1, text.data() + text.size(), value);
  return value;
}

}  // namespace filibuster::proxy
