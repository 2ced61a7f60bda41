// The services of one lane that have no process: their stubs, and the server that answers in their place (daemon/stubs/).
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "daemon/process/session_lane.h"
#include "daemon/stubs/stub_board.h"
#include "daemon/stubs/stub_server.h"

namespace filibuster {

// What is wrong with stubs of services for methods of gRPC: a method that there is not, a request or an answer that is not its.
std::vector<ConfigError> check_stubs(const Config& config,
                                     const std::shared_ptr<const DescriptorSet>& descriptors);

// Makes the certificate with which stubs of this lane serve TLS, and lets the lane's processes trust it (ROOT/tls, of further lanes
// ROOT/tls-N). Does nothing where no service has `tls`.
Result<void> certify(const Config& config, SessionLane* lane);

class VirtualServices {
 public:
  // null: the configuration has none. `descriptors`: of gRPC methods; null: there are none. `answerer`: answers in the place
  // of stubs, and outlives this; null: stubs answer. Error: what is wrong with a stub, or a port that is taken.
  static Result<std::unique_ptr<VirtualServices>> start(
      const Config& config, const SessionLane& lane,
      std::shared_ptr<const DescriptorSet> descriptors, stubs::Answerer* answerer);

  // An execution begins: sequences of answers begin anew.
  void begin() { board_.begin(); }
  // The stubs of a test beside those of the services, in its executions from now on. Returns what is wrong with them, a sentence each.
  std::vector<std::string> add_stubs(
      const std::map<std::string, std::vector<stubs::Stub>>& of_test);
  // What came since begin(), in its order.
  std::vector<stubs::CallNote> calls() const { return board_.calls(); }
  // Of the calls since begin(), those that no stub answered: why, each once.
  std::vector<std::string> unanswered() const;

 private:
  VirtualServices(std::map<std::string, std::vector<stubs::Stub>> of_services,
                  std::shared_ptr<const DescriptorSet> descriptors)
      : of_services_(of_services), board_(std::move(of_services), std::move(descriptors)) {}

  const std::map<std::string, std::vector<stubs::Stub>> of_services_;  // as configured
  stubs::StubBoard board_;
  std::unique_ptr<stubs::StubServer> server_;  // ends before the board
};

}  // namespace filibuster
