#include "daemon/verbs/principled/check.h"

#include <algorithm>
#include <cstdlib>
#include <map>

#include "daemon/principled/statements.h"
#include "daemon/stubs/choose.h"
#include "daemon/stubs/stub_board.h"

namespace filibuster {
namespace {

using Json = nlohmann::json;
using principled::Block;
using principled::Diagnostic;
using principled::Statements;
using Descriptors = std::shared_ptr<const DescriptorSet>;

std::vector<std::string> problems_of(const stubs::Stub& stub, const Descriptors& descriptors) {
  return stubs::StubBoard({{"", {stub}}}, descriptors).problems();
}

// Of a test, in the order in which an execution reads its blocks.
class TestCheck {
 public:
  TestCheck(const Config& config, const Descriptors& descriptors, std::vector<ConfigError>* out)
      : config_(config), descriptors_(descriptors), out_(*out) {
    readers_.stub = [this](const std::string& service, const Json& stub) {
      return read_stub(service, stub);
    };
    readers_.key = [this](principled::Key* key) { return check_key(key); };
  }

  void check(const PrincipledConfig& test) {
    Statements stated;
    read(Block::kStub, test.stubs, &stated);
    read(Block::kFailure, test.failure, &stated);
    read(Block::kAssertStubs, test.assert_stubs, &stated);
    for (size_t i = 0; i < test.assertions.size(); ++i) {
      const bool is_of_code =
          std::any_of(stated.on_exceptions.begin(), stated.on_exceptions.end(),
                      [i](const principled::ExceptionAssertions& each) { return each.block == i; });
      read(is_of_code ? Block::kOnException : Block::kOnFault, test.assertions[i].statements,
           &stated);
    }
    if (const auto found = principled::contradiction(stated)) add(found->at, found->text);
    check_stubs_of_test(stated);
  }

 private:
  void add(const std::string& at, const std::string& text) {
    const size_t colon = at.rfind(':');
    const int line = colon == std::string::npos ? 0 : std::atoi(at.c_str() + colon + 1);
    out_.push_back({config_.path, line, 0, text});
  }

  void read(Block block, const std::vector<Json>& calls, Statements* out) {
    for (const Diagnostic& problem : out->read(block, calls, readers_))
      add(problem.at, problem.text);
  }

  Result<stubs::Stub> read_stub(const std::string& service, const Json& stub) const {
    const auto found =
        std::find_if(config_.services.begin(), config_.services.end(),
                     [&](const ServiceConfig& each) { return each.name == service; });
    if (found == config_.services.end())
      return Error{"the configuration has no service '" + service + "'"};
    if (!found->is_virtual)
      return Error{
          "service '" + service +
          "' has a process; a stub stands for a service that is declared with \"stubs\": [] and without a command"};
    return parse_stub(stub, service, found->protocol == Protocol::kRedis);
  }

  Result<void> check_key(const principled::Key* key) const {
    if (key->call.kind != stubs::Kind::kGrpc || descriptors_ == nullptr ||
        !descriptors_->names_service(key->call.path))
      return {};
    if (auto known = descriptors_->question(key->call.path, "{}"); !known) return known.error();
    if (!key->call.has_whole) return {};
    auto whole = descriptors_->request_of(key->call.path, key->call.whole.dump());
    return whole ? Result<void>() : Result<void>(Error{"'request' " + whole.error().message});
  }

  void check_stubs_of_test(const Statements& stated) {
    std::map<std::string, std::vector<stubs::Stub>> all;
    for (const ServiceConfig& service : config_.services) all[service.name] = service.stubs;
    for (const principled::StubStatement& each : stated.stubs) {
      std::vector<stubs::Stub>& stubs = all[each.service];
      stubs.push_back(each.stub);
      if (const auto same = stubs::same_conditions(stubs)) {
        add(each.at, stubs[same->first].name + " and " + stubs[same->second].name +
                         " answer the same calls");
        stubs.pop_back();
      }
      if (descriptors_ == nullptr) continue;
      for (const std::string& problem : problems_of(each.stub, descriptors_)) add(each.at, problem);
    }
  }

  const Config& config_;
  const Descriptors& descriptors_;
  std::vector<ConfigError>& out_;
  Statements::Readers readers_;
};

}  // namespace

std::vector<ConfigError> check_stubs(const Config& config, const Descriptors& descriptors) {
  std::vector<ConfigError> out;
  for (const ServiceConfig& service : config.services) {
    for (const stubs::Stub& stub : service.stubs) {
      for (const std::string& problem : problems_of(stub, descriptors))
        out.push_back({config.path, stub.line, stub.column, problem});
    }
  }
  return out;
}

std::vector<ConfigError> check_statements(const Config& config, const Descriptors& descriptors) {
  std::vector<ConfigError> out;
  TestCheck check(config, descriptors, &out);
  for (const TestConfig& test : config.tests) {
    if (test.principled && !test.principled->in_program) check.check(*test.principled);
  }
  return out;
}

}  // namespace filibuster
