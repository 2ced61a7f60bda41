#include "daemon/lane/lane_set.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace filibuster {

std::string why_one_lane(const Config& config) {
  if (config.services.empty()) return "the configuration has no services to start";
  for (const ServiceConfig& service : config.services) {
    if (service.third_party && !service.is_virtual) continue;
    if (service.runs_already())
      return "service '" + service.name + "' is attached to, and so runs once";
    if (service.command.empty() && !service.ignored && !service.is_virtual)
      return "service '" + service.name + "' is started by somebody else";
    if (service.command.empty() && !service.is_virtual) continue;
    for (const auto& [name, port] : service.ports) {
      if (port != 0)
        return "service '" + service.name + "' has the fixed port " + std::to_string(port) +
               " (a port of the configuration without a number is another one in each lane)";
    }
  }
  return "";
}

std::vector<std::string> shared_between_lanes(const Config& config) {
  std::vector<std::string> out;
  for (const ServiceConfig& service : config.services) {
    if (service.is_virtual) continue;
    if (service.third_party || service.command.empty()) out.push_back(service.name);
  }
  return out;
}

TestConfig test_of_lane(const TestConfig& test, const SessionLane& first, const SessionLane& lane) {
  TestConfig out = test;
  const std::string before = first.log_path("test"), after = lane.log_path("test");
  const auto replace = [&](std::string* text) {
    for (size_t at = text->find(before); at != std::string::npos;
         at = text->find(before, at + after.size()))
      text->replace(at, before.size(), after);
  };
  replace(&out.junit_xml);
  for (std::string& argument : out.command.argv) replace(&argument);
  return out;
}

LaneSet::LaneSet(const Lane::Options& options, uint32_t lanes, EventSink sink, OnHub on_hub)
    : options_(options), sink_(std::move(sink)), on_hub_(std::move(on_hub)), useful_(lanes) {}

LaneSet::~LaneSet() {
  for (auto& [number, lane] : lanes_) {
    on_hub_(number, nullptr);
    lane->stop_services();
  }
}

Result<Lane*> LaneSet::get(uint32_t number) {
  {
    const std::lock_guard lock(mutex_);
    const auto known = lanes_.find(number);
    if (known != lanes_.end()) return known->second.get();
  }
  Lane::Options options = options_;
  options.number = number;
  options.ports.clear();
  // What a lane says of its services is said once, by lane 0.
  const EventSink sink = [this, number](nlohmann::json event) {
    if (event.value("type", "") != "warning") return;
    event["text"] = "lane " + std::to_string(number) + ": " + event.value("text", "");
    sink_(std::move(event));
  };
  auto made = Lane::make(options, sink);
  if (!made) return made.error();
  std::unique_ptr<Lane> lane = std::move(made).value();
  lane->add_services(nullptr);
  if (auto started = lane->start_services(); !started) {
    lane->stop_services();
    return started.error();
  }
  on_hub_(number, lane->shared_hub());
  const std::lock_guard lock(mutex_);
  return (lanes_[number] = std::move(lane)).get();
}

void LaneSet::compared(uint32_t number, bool equal) {
  const std::lock_guard lock(mutex_);
  if (equal)
    equal_.insert(number);
  else
    equal_.erase(number);
}

std::vector<uint32_t> LaneSet::equal_lanes() const {
  const std::lock_guard lock(mutex_);
  return {equal_.begin(), equal_.end()};
}

void LaneSet::drop(uint32_t number) {
  std::unique_ptr<Lane> lane;
  {
    const std::lock_guard lock(mutex_);
    const auto known = lanes_.find(number);
    if (known == lanes_.end()) return;
    lane = std::move(known->second);
    lanes_.erase(known);
    equal_.erase(number);
  }
  on_hub_(number, nullptr);
  lane->stop_services();
}

void LaneSet::give_up(uint32_t number) {
  {
    const std::lock_guard lock(mutex_);
    useful_ = std::min(useful_, number);
  }
  drop(number);
}

uint32_t LaneSet::useful() const {
  const std::lock_guard lock(mutex_);
  return useful_;
}

}  // namespace filibuster
