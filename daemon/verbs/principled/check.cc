#include "daemon/verbs/principled/check.h"

#include <algorithm>
#include <cstdlib>
#include <map>

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
      : config_(config),
        descriptors_(descriptors),
        out_(*out),
        readers_(statement_readers(config, descriptors)) {}

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
  const Statements::Readers readers_;
};

}  // namespace

principled::Statements::Readers statement_readers(
    const Config& config, std::shared_ptr<const DescriptorSet> descriptors) {
  principled::Statements::Readers out;
  out.stub = [&config](const std::string& service, const Json& stub) -> Result<stubs::Stub> {
    const auto found =
        std::find_if(config.services.begin(), config.services.end(),
                     [&](const ServiceConfig& each) { return each.name == service; });
    if (found == config.services.end())
      return Error{"the configuration has no service '" + service + "'"};
    if (!found->is_virtual)
      return Error{
          "service '" + service +
          "' has a process; a stub stands for a service that is declared with \"stubs\": [] and without a command"};
    return parse_stub(stub, service, found->protocol == Protocol::kRedis);
  };
  out.key = [descriptors = std::move(descriptors)](principled::Key* key) -> Result<void> {
    if (key->call.kind != stubs::Kind::kGrpc || descriptors == nullptr ||
        !descriptors->names_service(key->call.path))
      return {};
    if (auto known = descriptors->question(key->call.path, "{}"); !known) return known.error();
    if (!key->call.has_whole) return {};
    // As a request is shown: what is not named has its default.
    auto whole = descriptors->request_of(key->call.path, key->call.whole.dump());
    if (!whole) return Error{"'request' " + whole.error().message};
    key->call.whole = Json::parse(whole.value());
    return {};
  };
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
