#include "daemon/lane/lane_ports.h"

#include <nlohmann/json.hpp>
#include <utility>

namespace filibuster {
namespace {

using Json = nlohmann::json;

constexpr int kVersion = 1;
constexpr uint64_t kLastPort = 65535;

// The member "lanes" of the file; an empty object if there is no file, or one of another version.
Json read_lanes(const std::string& path) {
  const auto text = read_file(path);
  if (!text) return Json::object();
  const Json file = Json::parse(text.value(), nullptr, false);
  if (!file.is_object() || !file.contains("version") || file["version"] != kVersion ||
      !file.contains("lanes") || !file["lanes"].is_object()) {
    return Json::object();
  }
  return file["lanes"];
}

// "the port of 'cds' is 21090, and was 21034, which is taken by pid 77 (python3 x.py)"
std::string to_text(const MovedPort& moved) {
  const std::string out = "the port of '" + moved.name + "' is " + std::to_string(moved.now) +
                          ", and was " + std::to_string(moved.former);
  const auto holder = port_holder(moved.former);
  if (!holder) {
    return out +
           ", which another session uses, or connections of the last session still hold (for about a "
           "minute, unless the server sets SO_REUSEADDR or SO_REUSEPORT)";
  }
  if (holder->pid == 0) return out + ", which is taken";
  return out + ", which is taken by pid " + std::to_string(holder->pid) + " (" + holder->program +
         ")";
}

}  // namespace

LanePorts::LanePorts(const Config& config, const PortMap& brought, std::string meaning,
                     SessionLane* lane)
    : config_(config),
      meaning_(std::move(meaning)),
      lane_(lane),
      path_(lane->root + "/ports.json"),
      former_(brought) {
  former_.merge(kept());
}

Result<void> LanePorts::take() {
  auto ports = allocate_ports(config_, former_, &claims_);
  if (!ports) return ports.error();
  lane_->ports = ports->numbers;
  lane_->automatic_ports = ports->automatic;
  for (const MovedPort& moved : ports->moved)
    lane_->port_notes.push_back(to_text(moved) + meaning_);
  return {};
}

PortMap LanePorts::kept() const {
  PortMap out;
  const Json lanes = read_lanes(path_);
  const auto lane = lanes.find(std::to_string(lane_->number));
  if (lane == lanes.end() || !lane->is_object()) return out;
  for (const auto& [name, number] : lane->items()) {
    if (number.is_number_unsigned() && number.get<uint64_t>() <= kLastPort)
      out.emplace(name, number.get<uint16_t>());
  }
  return out;
}

Result<void> LanePorts::keep(Keep which) const {
  const PortMap before = kept();
  PortMap now = before;
  for (const auto& [name, number] : lane_->automatic_ports) {
    if (which == Keep::kAll) {
      now.insert_or_assign(name, number);
    } else {
      now.emplace(name, number);
    }
  }
  if (now == before) return {};
  Json lanes = read_lanes(path_);
  lanes[std::to_string(lane_->number)] = now;
  return write_file(path_, dump_json(Json{{"version", kVersion}, {"lanes", lanes}}, 2) + "\n");
}

}  // namespace filibuster
