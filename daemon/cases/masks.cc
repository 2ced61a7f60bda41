#include "daemon/cases/masks.h"

#include <algorithm>
#include <utility>

#include "core/index/execution_index.h"
#include "core/resp/commands.h"
#include "core/resp/key_pattern.h"
#include "core/resp/pieces.h"
#include "daemon/wire/resp_value.h"

namespace filibuster::cases {
namespace {

std::string word_at(const nlohmann::json& command, size_t place) {
  if (!command.is_array() || place >= command.size()) return "";
  return wire::bytes_of_text(command[place]).value_or("");
}

}  // namespace

std::string command_name(const nlohmann::json& command) {
  std::string name = word_at(command, 0);
  std::transform(name.begin(), name.end(), name.begin(), resp::to_upper);
  return name;
}

std::string command_key_pattern(const nlohmann::json& command) {
  const resp::CommandProperties* known = resp::find_command(command_name(command));
  // Of commands of modules, most have their key first.
  const size_t place = known == nullptr ? 1 : known->first_key;
  const std::string key = place == 0 ? "" : word_at(command, place);
  std::string out(key.size() + 1, '\0');
  out.resize(resp::key_pattern(key, out.data(), out.size()));
  return out;
}

Result<Masks> Masks::compile(const std::vector<NondeterminismRule>& rules) {
  Masks out;
  if (rules.empty()) return out;
  auto table = compile_masks(rules);
  if (!table) return table.error();
  out.table_ = std::move(table).value();
  return out;
}

RequestMasks Masks::of(const std::string& caller, const CallInput& input) const {
  RequestMasks out;
  if (table_ == nullptr) return out;
  const bool redis = input.kind == Kind::kRedis;
  const std::string method = redis ? command_name(input.command) : input.http.method;
  const std::string path = redis ? command_key_pattern(input.command)
                                 : std::string(request_path(method, input.http.target));
  select_masks(*table_, {caller, input.to, method, path}, &out);
  return out;
}

bool is_masked(const RequestMasks& masks, MaskPlace place, std::span<const uint64_t> names) {
  for (uint32_t i = 0; i < masks.count; ++i) {
    const MaskField& field = masks.fields[i];
    if (field.place != place || field.depth == 0 || field.depth > names.size()) continue;
    bool fits = true;
    for (size_t k = 0; k < field.depth && fits; ++k)
      fits = field.names[k] == kAnyName || field.names[k] == names[k];
    if (fits) return true;
  }
  return false;
}

bool has_elements_masked(const RequestMasks& masks, MaskPlace place,
                         std::span<const uint64_t> names) {
  std::vector<uint64_t> element(names.begin(), names.end());
  element.push_back(name_hash("0"));
  for (uint32_t i = 0; i < masks.count; ++i) {
    const MaskField& field = masks.fields[i];
    if (field.place != place || field.depth != element.size() ||
        field.names[field.depth - 1] != kAnyName)
      continue;
    RequestMasks one;
    one.count = 1;
    one.fields[0] = field;
    if (is_masked(one, place, element)) return true;
  }
  return false;
}

}  // namespace filibuster::cases
