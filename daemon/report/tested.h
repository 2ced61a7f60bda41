// Which RPCs of an exploration were tested, and why others were not: what 'no failure found' is worth.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace filibuster {

// The reason of what an interrupted exploration has not come to.
inline constexpr std::string_view kInterruptedBefore = "the exploration was interrupted before";

// RPCs as "users -> movies GET /movies/1", without secrets.
struct TestedRpcs {
  std::set<std::string> tested;                // a fault was injected, or proved to be redundant
  std::map<std::string, std::string> untested;  // with the reason, which is not the configuration's
  // The rules inject nothing there, a bound ended the exploration before. The test's own requests are
  // not among them.
  std::set<std::string> by_configuration;

  void add(const TestedRpcs& other);
};
// "3 RPCs tested, 1 not (its cause is not known), 2 left out by the configuration"
std::string to_line(const TestedRpcs& rpcs);

// Collects them over the executions of a test.
class RpcLedger {
 public:
  // What one execution showed: RPCs that may get faults, those that get none although they should,
  // and those that the configuration leaves out. True: there is something new.
  bool see(const std::set<std::string>& faulted, const std::set<std::string>& by_configuration);
  void leave_out(const std::string& rpc, const std::string& reason);
  // An execution came as planned, with a fault at it.
  bool injected(const std::string& rpc);
  // An execution with a fault at it had no conclusion. True: as above.
  bool unconcluded(const std::string& rpc);
  bool knows(const std::string& rpc) const;
  static constexpr size_t kMaxRpcs = 10'000;  // of one kind; those beyond it are not named
  bool full() const;

  // How the exploration ended that left something open.
  enum class Rest : uint8_t {
    kNone,         // every fault that was scheduled was executed, or proved to be redundant
    kBound,        // it is left to a bound
    kInterrupted,  // the same command goes on with it
    kNoConclusion,
  };
  TestedRpcs result(Rest rest) const;

  // Kept with the session, so that a resumed one knows them. What is not such a text is left out.
  std::string to_json() const;
  void add_json(std::string_view text);

 private:
  // Adds `rpc` without secrets, while there is room; most were seen before, as they were.
  struct Names {
    std::unordered_set<std::string> seen;
    bool add(const std::string& rpc, std::set<std::string>* to);
  };

  std::set<std::string> faulted_, injected_, unconcluded_, by_configuration_;
  Names faulted_names_, injected_names_, unconcluded_names_, configured_names_;
  std::map<std::string, std::string> left_out_;
};

}  // namespace filibuster
