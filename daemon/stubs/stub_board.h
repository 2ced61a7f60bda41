// The stubs of one lane: chooses the answer of each call that reaches a dependency without a process, and notes the calls.
// Thread-safe: calls come from the thread of the server (stub_server.h).
//
//   StubBoard board({{"users", stubs}}, descriptors);
//   board.begin();                                   // an execution begins: sequences of answers begin anew
//   Reply reply = board.reply(std::move(call));      // what to send
//   for (const CallNote& note : board.calls()) ...   // what came since begin()
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "daemon/descriptors/descriptor_set.h"
#include "daemon/stubs/answerer.h"
#include "daemon/stubs/fake.h"

namespace filibuster::stubs {

struct CallNote {
  Call call;                   // without its body and its header fields
  std::optional<size_t> stub;  // of its service's that answered it; nullopt: a fake did, or nobody
  std::string problem;         // why nobody did
};

class StubBoard final : public Answerer {
 public:
  // `descriptors`: of the gRPC methods; null: there are none.
  StubBoard(std::map<std::string, std::vector<Stub>> stubs,
            std::shared_ptr<const DescriptorSet> descriptors);

  // Answers the calls of a service that no stub answers. To be called before there are calls.
  void add_fake(const std::string& service, std::unique_ptr<Fake> fake);

  // What is wrong with the stubs of gRPC methods, a sentence each that names the stub: an answer that its method cannot give,
  // or a method that the descriptors do not have.
  const std::vector<std::string>& problems() const { return problems_; }

  // Other stubs from now on. To be called between executions, or while nobody calls. Returns what is wrong with them, as problems().
  std::vector<std::string> replace(std::map<std::string, std::vector<Stub>> stubs);

  void begin();
  Reply reply(Call call) override;
  void refuse(const std::string& service, const std::string& problem) override;
  std::vector<CallNote> calls() const;  // the last kMostCalls

  static constexpr size_t kMostCalls = 1 << 17;

 private:
  using StubsByService = std::map<std::string, std::vector<Stub>>;
  std::vector<std::string> read_all(StubsByService* stubs) const;
  void read_grpc(Stub* stub, std::vector<std::string>* problems) const;
  void note(CallNote note);
  Result<std::string> encode(const std::string& grpc, const Answer& answer) const;

  const std::shared_ptr<const DescriptorSet> descriptors_;
  std::vector<std::string> problems_;
  std::map<std::string, std::unique_ptr<Fake>> fakes_;  // by service
  mutable std::mutex mutex_;                            // guards all below
  std::shared_ptr<const StubsByService> stubs_;
  std::map<const Stub*, size_t> answered_;  // how often, since begin()
  std::deque<CallNote> calls_;
};

}  // namespace filibuster::stubs
