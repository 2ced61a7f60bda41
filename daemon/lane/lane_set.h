// The further lanes of a session (-j N): replicas of the application beside lane 0, with ports, agents,
// logs and a token of their own. Each is started when it is first wanted, and stays for the next test.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "daemon/lane/lane.h"

namespace filibuster {

// Why there can be only one lane: ports that are fixed, services that somebody else starts. "": there can
// be several.
std::string why_one_lane(const Config& config);
// What replicas would share although it is declared: third parties, and services that are not started
// for each lane. A name each.
std::vector<std::string> shared_between_lanes(const Config& config);

// The test as it runs on `lane`: it writes its results into a file of that lane. `test` is that of `first`.
TestConfig test_of_lane(const TestConfig& test, const SessionLane& first, const SessionLane& lane);

class LaneSet {
 public:
  // Called when a lane has come, and with null when it has gone.
  using OnHub = std::function<void(uint32_t lane, std::shared_ptr<AgentHub> hub)>;
  // `options` are those of lane 0, `sink` takes warnings; it is called from several threads.
  // At most so many `lanes`, lane 0 among them.
  LaneSet(const Lane::Options& options, uint32_t lanes, EventSink sink, OnHub on_hub);
  LaneSet(const LaneSet&) = delete;
  LaneSet& operator=(const LaneSet&) = delete;
  ~LaneSet();  // stops what still runs

  // Lane `number`, from 1; it is started with its services unless it runs. To be called by one thread for
  // each lane. Error: why it cannot run.
  Result<Lane*> get(uint32_t number);
  // A test was run on the lane and on lane 0, and both showed the same, or not.
  void compared(uint32_t number, bool equal);
  // The lanes that showed what lane 0 shows.
  std::vector<uint32_t> equal_lanes() const;
  // Stops the lane; get() starts another one with that number.
  void drop(uint32_t number);
  // Stops the lane for good: it and those of higher numbers make nothing faster here.
  void give_up(uint32_t number);
  // How many lanes a test may use, lane 0 among them.
  uint32_t useful() const;

 private:
  Lane::Options options_;
  EventSink sink_;
  OnHub on_hub_;
  mutable std::mutex mutex_;
  std::map<uint32_t, std::unique_ptr<Lane>> lanes_;
  std::set<uint32_t> equal_;
  uint32_t useful_;
};

}  // namespace filibuster
