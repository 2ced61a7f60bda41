#include "daemon/property/program.h"

#include <algorithm>

#include "daemon/property/history.h"

namespace filibuster::property {
namespace {

// The number of {"result": N}; nullopt: the value is none.
std::optional<uint32_t> reference_of(const nlohmann::json& value) {
  if (!value.is_object() || value.size() != 1) return std::nullopt;
  const auto found = value.find("result");
  const std::optional<int64_t> number = found == value.end() ? std::nullopt : whole_number(*found);
  if (!number || *number < 0 || *number > int64_t{UINT32_MAX}) return std::nullopt;
  return static_cast<uint32_t>(*number);
}

void add_results(const nlohmann::json& value, std::vector<uint32_t>* out) {
  if (const auto number = reference_of(value)) {
    out->push_back(*number);
  } else if (value.is_structured()) {
    for (const nlohmann::json& each : value) add_results(each, out);
  }
}

}  // namespace

size_t block_size(const Program& program, size_t at) {
  size_t end = at + 1;
  while (end < program.items.size() && program.items[end].parallel) ++end;
  return end - at;
}

Program without(const Program& program, size_t at, size_t count) {
  Program out;
  out.holds = program.holds;
  const size_t end = std::min(at + count, program.items.size());
  bool begins = false;  // what comes next loses the begin of its block
  for (size_t i = 0; i < program.items.size(); ++i) {
    if (i >= at && i < end) {
      begins |= !program.items[i].parallel;
      continue;
    }
    out.items.push_back(program.items[i]);
    if (i == end) out.items.back().parallel &= !begins;
  }
  return out;
}

bool holds_fit(const Program& program) {
  for (size_t i = 1; i < program.holds.size(); ++i) {
    if (program.holds[i].command != program.holds[i - 1].until) return false;
  }
  return std::all_of(program.holds.begin(), program.holds.end(), [&](const Hold& hold) {
    for (size_t at = 0, size = 0; at < program.items.size(); at += size) {
      size = block_size(program, at);
      size_t found = 0;
      for (size_t i = at; i < at + size; ++i) {
        const Item& item = program.items[i];
        found += !item.is_fault() && (item.number == hold.command || item.number == hold.until);
      }
      if (found == 2) return true;
    }
    return false;
  });
}

std::vector<uint32_t> results_in(const nlohmann::json& value) {
  std::vector<uint32_t> out;
  add_results(value, &out);
  return out;
}

std::optional<nlohmann::json> with_results(
    const nlohmann::json& value, const std::vector<std::optional<nlohmann::json>>& answers) {
  if (const auto number = reference_of(value)) {
    if (*number >= answers.size()) return std::nullopt;
    return answers[*number];
  }
  if (!value.is_structured()) return value;
  nlohmann::json out = value;
  for (nlohmann::json& each : out) {
    std::optional<nlohmann::json> whole = with_results(each, answers);
    if (!whole) return std::nullopt;
    each = std::move(*whole);
  }
  return out;
}

std::string item_text(const Item& item, const std::vector<ArmableFault>& faults) {
  if (!item.is_fault()) return item.f + (item.value.is_null() ? "" : " " + json_text(item.value));
  const ArmableFault& fault = faults[*item.fault];
  if (item.lasts > 0)
    return fault.name + " at each " + to_text(fault.edge) + " of the next " +
           (item.lasts == 1 ? std::string("item") : std::to_string(item.lasts) + " items");
  return fault.name + " at " +
         (item.occurrence == 1 ? std::string("the next")
                               : "call " + std::to_string(item.occurrence) + " from here of") +
         " " + to_text(fault.edge);
}

}  // namespace filibuster::property
