// The descriptors of the gRPC methods that a session sees: those that the configuration names, and
// what the services say of themselves (server reflection). A service that was called, and whose
// descriptors are not known, is asked once, between executions.
#pragma once

#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <vector>

#include "daemon/config/config.h"
#include "daemon/descriptors/descriptor_set.h"
#include "daemon/process/ports.h"

namespace filibuster {

class ServiceDescriptors {
 public:
  // `given`: descriptors that the configuration names, or null. `learnt`: what services said in an
  // earlier session, as learnt() returned it.
  ServiceDescriptors(const Config& config, PortMap ports,
                     std::shared_ptr<const DescriptorSet> given, const std::string& learnt);

  // Never null. May be called while another thread learns.
  std::shared_ptr<const DescriptorSet> get() const;
  // As DescriptorSet::question. If services are asked, a gRPC service that is not known yet may be
  // known once it was called: a question about it is returned unchanged.
  Result<nlohmann::json> question(const std::string& grpc, const std::string& arguments) const;
  // Error: `grpc` is nearly the name of a method of the configuration's descriptors.
  Result<void> check_name(const std::string& grpc) const;

  // Called when no execution runs. Asks the services that the execution called, and reads the
  // arguments of its calls. Returns what could not be learnt, for the report.
  std::vector<std::string> learn(ExecutionRecord* record);
  // What the services said, serialized; "": nothing.
  std::string learnt() const { return learnt_; }

 private:
  struct Question {
    std::string service;  // of the configuration
    std::set<std::string> grpc;
  };
  bool may_be_asked(const RpcRecord& rpc) const;

  const Config& config_;
  const PortMap ports_;
  const std::shared_ptr<const DescriptorSet> given_;
  const bool asks_;
  std::string learnt_;
  std::set<std::string> asked_;  // "127.0.0.1:5001 shop.CartService"

  mutable std::mutex mutex_;
  std::shared_ptr<const DescriptorSet> now_;
};

}  // namespace filibuster
