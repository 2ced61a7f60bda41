#include "daemon/lane/service_descriptors.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>

#include "core/grpc/call.h"
#include "daemon/descriptors/reflection.h"

namespace filibuster {
namespace {

constexpr std::chrono::milliseconds kLimit{2000};  // for asking one address

// Two serialized sets as one: when serialized messages are concatenated, their repeated fields are joined.
std::string joined(const std::string& one, const std::string& other) {
  return one + other;
}

}  // namespace

ServiceDescriptors::ServiceDescriptors(const Config& config, PortMap ports,
                                       std::shared_ptr<const DescriptorSet> given,
                                       const std::string& learnt)
    : config_(config),
      ports_(std::move(ports)),
      given_(std::move(given)),
      asks_(config.reflection),
      now_(given_ ? given_ : std::make_shared<const DescriptorSet>()) {
  if (learnt.empty()) return;
  auto set = std::make_shared<DescriptorSet>();
  if (set->add_files(joined(now_->files(), learnt)).ok()) {
    learnt_ = learnt;
    now_ = std::move(set);
  }
}

std::shared_ptr<const DescriptorSet> ServiceDescriptors::get() const {
  const std::lock_guard lock(mutex_);
  return now_;
}

Result<nlohmann::json> ServiceDescriptors::question(const std::string& grpc,
                                                    const std::string& arguments) const {
  if (!given_ && !asks_) {
    return Error{
        "arguments can be asked for where the configuration names 'descriptors', what `protoc "
        "--include_imports --descriptor_set_out=FILE` writes, or lets the services be asked "
        "('reflection')"};
  }
  const std::shared_ptr<const DescriptorSet> known = get();
  auto question = known->question(grpc, arguments);
  // `grpc` is nearly a name that the configuration's descriptors have: a mistake, not an unknown service.
  const bool mistaken = given_ && (grpc.empty() || given_->resembles(grpc));
  if (question || !asks_ || mistaken || known->names_service(grpc)) return question;
  auto wanted = nlohmann::json::parse(arguments, nullptr, false);
  return wanted.is_object() ? Result<nlohmann::json>(std::move(wanted)) : question;
}

Result<void> ServiceDescriptors::check_name(const std::string& grpc) const {
  if (!given_ || grpc.empty() || !given_->resembles(grpc)) return {};
  const auto question = get()->question(grpc, "{}");
  return question ? Result<void>() : question.error();
}

// True for a service of the application at one of its own ports. No other server is asked.
bool ServiceDescriptors::may_be_asked(const RpcRecord& rpc) const {
  const auto service =
      std::find_if(config_.services.begin(), config_.services.end(),
                   [&](const ServiceConfig& each) { return each.name == rpc.service; });
  if (service == config_.services.end() || !service->is_followed()) return false;
  const size_t colon = rpc.peer.rfind(':');
  if (colon == std::string::npos) return false;
  const std::string port = rpc.peer.substr(colon + 1);
  return std::any_of(service->ports.begin(), service->ports.end(), [&](const auto& named) {
    const auto place = ports_.find(named.first);
    return place != ports_.end() && std::to_string(place->second) == port;
  });
}

std::vector<std::string> ServiceDescriptors::learn(ExecutionRecord* record) {
  std::shared_ptr<const DescriptorSet> known = get();
  std::map<std::string, Question> questions;    // by address
  std::map<std::string, std::string> problems;  // by service of gRPC
  if (asks_) {
    for (const RpcRecord& rpc : record->rpcs) {
      const auto call = rpc.is_grpc() ? grpc::split_path(rpc.target) : std::nullopt;
      if (!call || known->has_service(std::string(call->service)) || !may_be_asked(rpc)) continue;
      if (!asked_.insert(rpc.peer + " " + std::string(call->service)).second) continue;
      if ((rpc.flags & kRpcEncrypted) != 0) {
        problems[std::string(call->service)] =
            "service '" + rpc.service + "' is called over TLS, where it is not asked";
        continue;
      }
      Question& question = questions[rpc.peer];
      question.service = rpc.service;
      question.grpc.insert(std::string(call->service));
    }
  }
  for (const auto& [address, question] : questions) {
    const Reflected told =
        ask_reflection(address, {question.grpc.begin(), question.grpc.end()}, kLimit);
    for (const auto& [grpc, why] : told.problems)
      problems[grpc] = "service '" + question.service + "' has no server reflection for it: " + why;
    if (told.files.empty()) continue;
    auto more = std::make_shared<DescriptorSet>();
    if (auto added = more->add_files(joined(known->files(), told.files)); !added) {
      for (const std::string& grpc : question.grpc)
        problems[grpc] =
            "what service '" + question.service + "' says of it: " + added.error().message;
      continue;
    }
    learnt_ = joined(learnt_, told.files);
    known = std::move(more);
  }
  {
    const std::lock_guard lock(mutex_);
    now_ = known;
  }
  known->read_arguments(record);
  std::vector<std::string> notes;
  for (const auto& [grpc, why] : problems) {
    // One address may be a proxy without reflection, and the service behind it may have it.
    if (known->has_service(grpc)) continue;
    notes.push_back("the arguments of gRPC service " + grpc + " are not known: " + why);
  }
  return notes;
}

}  // namespace filibuster
