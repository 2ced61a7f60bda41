#include "daemon/property/program_json.h"

#include <algorithm>
#include <set>
#include <string>

#include "daemon/model/member_reader.h"

namespace filibuster::property {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr size_t kMostRead = 10'000;  // items

Edge read_edge(MemberReader* reader) {
  Edge out;
  reader->text("caller", &out.caller);
  reader->text("service", &out.service);
  reader->text("method", &out.method);
  reader->text("path", &out.path);
  return out;
}

// The place of the fault among `faults`, to which it is added if it is not there.
size_t place_of(ArmableFault fault, std::vector<ArmableFault>* faults) {
  const auto found = std::find_if(faults->begin(), faults->end(), [&](const ArmableFault& each) {
    return each.name == fault.name && each.edge == fault.edge &&
           to_text(each.fault) == to_text(fault.fault);
  });
  if (found != faults->end()) return static_cast<size_t>(found - faults->begin());
  faults->push_back(std::move(fault));
  return faults->size() - 1;
}

Result<Item> read_fault(const OrderedJson& json, const std::string& place,
                        std::vector<ArmableFault>* faults) {
  MemberReader reader{json, place.c_str(), {}};
  ArmableFault armed;
  std::string text;
  Item out;
  reader.text("arm", &armed.name);
  reader.text("fault", &text);
  armed.edge = read_edge(&reader);
  reader.number("occurrence", &out.occurrence);
  if (json.contains("lasts")) reader.number("lasts", &out.lasts);
  const auto fault = parse_fault(text);
  if (!fault) reader.fail("fault", fault.error().message.c_str());
  if (armed.edge.service.empty()) reader.fail("service", "the name of a service");
  if (out.occurrence == 0) reader.fail("occurrence", "a number from 1");
  if (!reader.problem.empty()) return Error{reader.problem};
  armed.fault = fault.value();
  out.fault = place_of(std::move(armed), faults);
  return out;
}

Result<Item> read_command(const OrderedJson& json, const std::string& place) {
  MemberReader reader{json, place.c_str(), {}};
  Item out;
  reader.text("do", &out.f);
  reader.number("number", &out.number);
  // The answers are kept by number.
  if (out.number > kMostRead) reader.fail("number", "a smaller one");
  if (!json.contains("value")) reader.fail("value", "a value");
  if (!reader.problem.empty()) return Error{reader.problem};
  out.parallel = json.value("parallel", OrderedJson(false)) == true;
  out.value = nlohmann::json::parse(
      json["value"].dump(-1, ' ', false, OrderedJson::error_handler_t::replace), nullptr, false);
  return out;
}

Error expected_list(const char* name) {
  return Error{std::string(name) + ": expected a list of at most " + std::to_string(kMostRead) +
               " objects"};
}

bool is_list(const OrderedJson& json) {
  return json.is_array() && json.size() <= kMostRead &&
         std::all_of(json.begin(), json.end(),
                     [](const OrderedJson& each) { return each.is_object(); });
}

}  // namespace

OrderedJson program_json(const Program& program, const std::vector<ArmableFault>& faults) {
  auto out = OrderedJson::array();
  for (const Item& item : program.items) {
    if (!item.is_fault()) {
      out.push_back({{"do", item.f}, {"value", item.value}, {"number", item.number}});
      if (item.parallel) out.back()["parallel"] = true;
      continue;
    }
    const ArmableFault& fault = faults[*item.fault];
    out.push_back({{"arm", fault.name},
                   {"fault", to_text(fault.fault)},
                   {"caller", fault.edge.caller},
                   {"service", fault.edge.service},
                   {"method", fault.edge.method},
                   {"path", fault.edge.path},
                   {"occurrence", item.occurrence}});
    if (item.lasts > 0) out.back()["lasts"] = item.lasts;
  }
  return out;
}

OrderedJson holds_json(const std::vector<Hold>& holds) {
  auto out = OrderedJson::array();
  for (const Hold& hold : holds)
    out.push_back({{"command", hold.command},
                   {"caller", hold.edge.caller},
                   {"service", hold.edge.service},
                   {"method", hold.edge.method},
                   {"path", hold.edge.path},
                   {"occurrence", hold.occurrence},
                   {"until", hold.until}});
  return out;
}

Result<ReadProgram> read_program(const OrderedJson& items, const OrderedJson& holds) {
  if (!is_list(items)) return expected_list("program");
  if (!is_list(holds)) return expected_list("holds");
  ReadProgram out;
  std::set<uint32_t> numbers;
  for (size_t i = 0; i < items.size(); ++i) {
    const std::string place = "program[" + std::to_string(i) + "]";
    auto item = items[i].contains("arm") ? read_fault(items[i], place, &out.faults)
                                         : read_command(items[i], place);
    if (!item) return item.error();
    const std::vector<Item>& before = out.program.items;
    if (item->parallel && (before.empty() || before.back().is_fault()))
      return Error{place + ".parallel: expected a command before it"};
    if (!item->is_fault() && !numbers.insert(item->number).second)
      return Error{place + ".number: expected one that no other command has"};
    out.program.items.push_back(std::move(item).value());
  }
  for (size_t i = 0; i < holds.size(); ++i) {
    const std::string place = "holds[" + std::to_string(i) + "]";
    MemberReader reader{holds[i], place.c_str(), {}};
    Hold hold;
    reader.number("command", &hold.command);
    hold.edge = read_edge(&reader);
    reader.number("occurrence", &hold.occurrence);
    reader.number("until", &hold.until);
    if (hold.occurrence == 0) reader.fail("occurrence", "a number from 1");
    if (!reader.problem.empty()) return Error{reader.problem};
    out.program.holds.push_back(std::move(hold));
  }
  if (!holds_fit(out.program))
    return Error{
        "holds: expected two commands of one block for each, the next one beginning with "
        "the command that the one before waits for"};
  return out;
}

}  // namespace filibuster::property
