#include "daemon/stubs/stub_board.h"

#include <algorithm>

#include "daemon/stubs/choose.h"

namespace filibuster::stubs {
namespace {

using Json = nlohmann::json;

// JSON where it is JSON, else a text; null: there is no body.
Json arguments_of(const std::string& body) {
  if (body.empty()) return nullptr;
  Json parsed = Json::parse(body, nullptr, false);
  return parsed.is_discarded() ? Json(body) : parsed;
}

}  // namespace

StubBoard::StubBoard(std::map<std::string, std::vector<Stub>> stubs,
                     std::shared_ptr<const DescriptorSet> descriptors)
    : descriptors_(std::move(descriptors)) {
  problems_ = read_all(&stubs);
  stubs_ = std::make_shared<const StubsByService>(std::move(stubs));
}

std::vector<std::string> StubBoard::replace(std::map<std::string, std::vector<Stub>> stubs) {
  std::vector<std::string> problems = read_all(&stubs);
  const std::lock_guard lock(mutex_);
  answered_.clear();
  stubs_ = std::make_shared<const StubsByService>(std::move(stubs));
  return problems;
}

std::vector<std::string> StubBoard::read_all(StubsByService* stubs) const {
  std::vector<std::string> problems;
  for (auto& [service, of_service] : *stubs) {
    for (Stub& stub : of_service) {
      if (stub.kind == Kind::kGrpc) read_grpc(&stub, &problems);
    }
  }
  return problems;
}

void StubBoard::read_grpc(Stub* stub, std::vector<std::string>* problems) const {
  const auto problem = [&](const std::string& text) {
    problems->push_back(stub->name + ": " + text);
  };
  if (descriptors_ == nullptr) {
    return problem(
        "a gRPC message is read and written by descriptors, and the configuration names none (`descriptors`)");
  }
  if (auto known = descriptors_->question(stub->path, "{}"); !known)
    return problem(known.error().message);
  if (stub->has_whole) {
    // As a request is shown: what is not named here has its default.
    if (auto whole = descriptors_->request_of(stub->path, stub->whole.dump())) {
      stub->whole = Json::parse(whole.value());
    } else {
      problem("its request " + whole.error().message);
    }
  }
  for (const Answer& answer : stub->answers) {
    if (answer.code != grpc::Code::kOk) continue;
    if (auto made = encode(stub->path, answer); !made)
      problem("its answer " + made.error().message);
  }
}

void StubBoard::add_fake(const std::string& service, std::unique_ptr<Fake> fake) {
  fakes_[service] = std::move(fake);
}

void StubBoard::begin() {
  for (const auto& [service, fake] : fakes_) fake->begin();
  const std::lock_guard lock(mutex_);
  answered_.clear();
  calls_.clear();
}

Reply StubBoard::reply(Call call) {
  if (call.kind == Kind::kGrpc) {
    auto read = descriptors_ == nullptr
                    ? Result<DescriptorSet::Request>(Error{"there are no descriptors"})
                    : descriptors_->request(call.path, call.body);
    call.problem = read ? "" : read.error().message;
    if (read) call.arguments = Json::parse(read->json, nullptr, false);
  } else if (call.kind == Kind::kHttp) {
    call.arguments = arguments_of(call.body);
  }
  static const std::vector<Stub> kNone;
  std::shared_ptr<const StubsByService> all;  // stays while other stubs take their place
  {
    const std::lock_guard lock(mutex_);
    all = stubs_;
  }
  const auto found = all->find(call.service);
  const std::vector<Stub>& stubs = found == all->end() ? kNone : found->second;
  const Choice choice = choose(stubs, call);
  Reply reply;
  const auto fake = fakes_.find(call.service);
  if (!choice.chosen && choice.equal.empty() && fake != fakes_.end()) {
    auto answer = fake->second->answer(call);
    if (answer) reply.answer = std::move(answer).value();
    if (!answer) reply.problem = answer.error().message;
  } else if (!choice.chosen) {
    reply.problem = why_none(stubs, choice, call);
  } else {
    const Stub& stub = stubs[*choice.chosen];
    {
      const std::lock_guard lock(mutex_);
      const size_t turn = answered_[&stub]++;
      reply.answer = stub.answers[std::min(turn, stub.answers.size() - 1)];
    }
    if (call.kind == Kind::kGrpc && reply.answer.code == grpc::Code::kOk) {
      if (auto made = encode(call.path, reply.answer)) {
        reply.grpc_message = std::move(made).value();
      } else {
        reply.problem = stub.name + ": its answer " + made.error().message;
      }
    }
  }
  call.body.clear();
  call.headers.clear();
  note({std::move(call), choice.chosen, reply.problem});
  return reply;
}

void StubBoard::refuse(const std::string& service, const std::string& problem) {
  Call call;
  call.service = service;
  note({std::move(call), std::nullopt, problem});
}

// What is watched for hours is one long execution, whose first calls nobody asks for any more.
void StubBoard::note(CallNote note) {
  const std::lock_guard lock(mutex_);
  calls_.push_back(std::move(note));
  if (calls_.size() > kMostCalls) calls_.pop_front();
}

Result<std::string> StubBoard::encode(const std::string& grpc, const Answer& answer) const {
  if (descriptors_ == nullptr) return Error{"needs descriptors"};
  return descriptors_->answer_of(grpc, answer.message.is_null() ? "{}" : answer.message.dump());
}

std::vector<CallNote> StubBoard::calls() const {
  const std::lock_guard lock(mutex_);
  return {calls_.begin(), calls_.end()};
}

}  // namespace filibuster::stubs
