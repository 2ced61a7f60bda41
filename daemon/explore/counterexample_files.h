// The counterexample files of a test: a failure keeps its number from run to run, whatever else is found.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "daemon/model/counterexample.h"

namespace filibuster {

class CounterexampleFiles {
 public:
  // `numbers` is held while a file gets its number, since other tests may write theirs at the same time.
  CounterexampleFiles(std::string folder, std::string test, std::mutex* numbers);

  struct File {
    uint32_t number = 0;
    std::string path;
  };
  // The file of the same faults is written anew; else it is a new one, with the next number. `*file` is known also where it
  // could not be written, but for its path.
  Result<void> write(const Counterexample& example, File* file);
  void remove(const File& file);
  // Numbers of the files of this test whose faults (FaultSet::key) `is_known` does not know.
  std::vector<uint32_t> others(const std::function<bool(const std::string&)>& is_known);
  const std::string& folder() const { return folder_; }

 private:
  std::map<uint32_t, std::string>& keys();

  std::string folder_, test_;
  std::mutex* numbers_;
  // Number -> FaultSet::key, "" for a file of another test. nullopt: not read yet.
  std::optional<std::map<uint32_t, std::string>> keys_;
};

}  // namespace filibuster
