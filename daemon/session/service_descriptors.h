// What is known of the gRPC methods that a session sees: what the configuration names, and what the
// services say of themselves (server reflection). Those that calls went to and of which nothing is
// known are asked between executions, once.
#pragma once

#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <vector>

#include "daemon/config/config.h"
#include "daemon/descriptors/descriptor_set.h"
#include "daemon/session/ports.h"

namespace filibuster {

class ServiceDescriptors {
 public:
  // `given`: of the configuration, or null. `learnt`: what an earlier session was told, serialized.
  ServiceDescriptors(const Config& config, PortMap ports,
                     std::shared_ptr<const DescriptorSet> given, const std::string& learnt);

  // Never null. May be called while another thread learns.
  std::shared_ptr<const DescriptorSet> get() const;
  // DescriptorSet::question. Where services are asked, a service of gRPC that is not known yet may
  // be later, when it was called: the question stands as it is.
  Result<nlohmann::json> question(const std::string& grpc, const std::string& arguments) const;
  // Error: `grpc` is nearly the name of a method of the configuration's descriptors.
  Result<void> check_name(const std::string& grpc) const;

  // Asks the services that the execution called (no execution runs), and reads the arguments of its
  // calls. What could not be learnt, for the report.
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
