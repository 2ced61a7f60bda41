// The client of a case's request and the connection of a dependency, which speak HTTP/2 with each other.
#include "daemon/replay/entry_http2.h"

#include <gtest/gtest.h>

#include "daemon/cases/grpc_body.h"
#include "daemon/stubs/stub_connection.h"

namespace filibuster::replay {
namespace {

const cases::Headers kOfGrpc = {{"content-type", "application/grpc"}};

std::string messages(const std::vector<std::string>& all) {
  std::string out;
  for (const std::string& each : all) cases::put_grpc_message(each, &out);
  return out;
}

cases::Request request_of(std::string body) {
  return {"POST", "/shop.Prices/Talk", kOfGrpc, std::move(body), "", true};
}

// One call between the two.
class Exchanged {
 public:
  explicit Exchanged(cases::Request request)
      : request_(std::move(request)),
        client_(request_, "127.0.0.1:1"),
        server_(stubs::make_http_connection("pricing")) {}

  // Bytes go to and fro until nothing more is said. The calls that were told.
  std::vector<stubs::OpenCall> run() {
    std::vector<stubs::OpenCall> out;
    while (true) {
      const std::string asked = client_.take_output();
      if (!asked.empty()) server_->feed(asked);
      for (stubs::OpenCall& call : server_->take_calls()) out.push_back(std::move(call));
      const std::string said = server_->take_output();
      if (!said.empty()) client_.feed(said, ++time_ * 20'000'000);
      if (asked.empty() && said.empty()) return out;
    }
  }
  // Every part at once.
  void send_parts() {
    while (const auto due = server_->take_due()) {
      server_->send_part(due->number);
      run();
    }
  }
  stubs::StubConnection& server() { return *server_; }
  EntryStream& client() { return client_; }

 private:
  const cases::Request request_;
  EntryStream client_;
  std::unique_ptr<stubs::StubConnection> server_;
  uint64_t time_ = 0;
};

stubs::Reply http_reply(std::string body) {
  stubs::Reply out;
  out.is_http = true;
  out.answer.headers = {{"Content-Type", "application/grpc"}};
  out.answer.body = std::move(body);
  out.trailers = {{"grpc-status", "0"}};
  return out;
}

TEST(EntryStream, ACallIsAskedAndAnsweredAsItWas) {
  Exchanged both(request_of(messages({"one", "two"})));
  const auto calls = both.run();
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(calls[0].call.kind, stubs::Kind::kGrpc);
  EXPECT_EQ(calls[0].call.path, "/shop.Prices/Talk");
  EXPECT_EQ(calls[0].call.body, messages({"one", "two"}));
  EXPECT_EQ(calls[0].call.number + 1, 1u) << "the stream, as agents tell it";
  both.server().reply(calls[0].number, http_reply(messages({"1", "2"})));
  both.run();
  ASSERT_TRUE(both.client().is_over());
  cases::Answer wanted;
  wanted.status = 200;
  wanted.headers = kOfGrpc;
  wanted.body = messages({"1", "2"});
  wanted.trailers = {{"grpc-status", "0"}};
  EXPECT_TRUE(both.client().answer() == wanted);
}

TEST(EntryStream, AnAnswerOfTrailersAlone) {
  Exchanged both(request_of(messages({"one"})));
  const auto calls = both.run();
  stubs::Reply reply = http_reply("");
  reply.answer.headers.emplace_back("grpc-status", "5");
  reply.trailers.clear();
  both.server().reply(calls.at(0).number, reply);
  both.run();
  ASSERT_TRUE(both.client().is_over());
  EXPECT_EQ(both.client().answer().headers.back().second, "5");
  EXPECT_TRUE(both.client().answer().trailers.empty());
}

TEST(EntryStream, PartsComeOneByOneAndTheEndBehindTheLast) {
  Exchanged both(request_of(messages({"one"})));
  const auto calls = both.run();
  stubs::Reply reply = http_reply(messages({"1", "2"}));
  reply.parts = {{6, {}, {}}, {6, {}, {}}};
  both.server().reply(calls.at(0).number, reply);
  both.run();
  EXPECT_EQ(both.client().answer().body, "");
  EXPECT_FALSE(both.client().is_over());
  both.send_parts();
  EXPECT_TRUE(both.client().is_over());
  EXPECT_EQ(both.client().answer().pieces.size(), 2u);
}

TEST(EntryStream, AResetHasItsCodeBehindWhatCameBefore) {
  for (const std::string& body : {std::string(), messages({"1"})}) {
    Exchanged both(request_of(messages({"one"})));
    const auto calls = both.run();
    stubs::Reply reply = http_reply(body);
    reply.answer.status = body.empty() ? 0 : 200;
    reply.end = stubs::End::kReset;
    reply.stream_error = 11;
    both.server().reply(calls.at(0).number, reply);
    both.run();
    ASSERT_TRUE(both.client().is_over());
    EXPECT_EQ(both.client().answer().ends, cases::Ends::kReset);
    EXPECT_EQ(both.client().answer().stream_error, 11u);
    EXPECT_EQ(both.client().answer().body, body);
    EXPECT_EQ(both.server().ended(), stubs::End::kNone) << "the connection goes on";
  }
}

TEST(EntryStream, SilenceKeepsTheStreamOpenBehindWhatCame) {
  Exchanged both(request_of(messages({"one"})));
  const auto calls = both.run();
  stubs::Reply reply = http_reply(messages({"1"}));
  reply.end = stubs::End::kSilence;
  both.server().reply(calls.at(0).number, reply);
  both.run();
  EXPECT_FALSE(both.client().is_over());
  EXPECT_EQ(both.client().answer().body, messages({"1"}));
}

}  // namespace
}  // namespace filibuster::replay
