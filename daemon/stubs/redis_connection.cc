// The server's side of Redis (RESP2). What a client asks of the connection itself is answered as a Redis does.
#include <algorithm>

#include "core/resp/command_parser.h"
#include "daemon/stubs/stub_connection.h"
#include "daemon/wire/resp_value.h"

namespace filibuster::stubs {
namespace {

using Json = nlohmann::json;

std::string bulk(std::string_view text) {
  return "$" + std::to_string(text.size()) + "\r\n" + std::string(text) + "\r\n";
}

// Lines that end the reply: no byte of them may.
std::string line(char type, std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '\r' || c == '\n'; }, ' ');
  return type + text + "\r\n";
}

constexpr int kVersion = 2;  // of the protocol that is spoken here

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  return text;
}

class RedisConnection final : public StubConnection, resp::CommandHandler {
 public:
  explicit RedisConnection(std::string service) : service_(std::move(service)), parser_(this) {}

  bool feed(std::string_view bytes) override {
    const size_t before = buffer_.size();
    buffer_ += bytes;
    begin_ = 0;
    fed_ = before;
    if (parser_.feed(bytes.data(), bytes.size()) == resp::CommandState::kInvalid) {
      in_order_.put(next_++, line('-', std::string("ERR Protocol error: ") + parser_.reason()),
                    &output_);
      last_ = next_ - 1;
      return false;
    }
    buffer_.erase(0, begin_);
    return buffer_.size() <= kMostBody;
  }

  void reply(uint64_t number, const Reply& reply) override {
    std::string bytes = reply.resp;
    if (!reply.problem.empty()) {
      bytes = line('-', "ERR filibuster: " + reply.problem);
    } else if (bytes.empty()) {
      bytes = wire::resp_reply_bytes(reply.answer.message, kVersion);
    }
    in_order_.put(number, std::move(bytes), &output_);
  }

  bool finished() const override { return last_ && in_order_.next() > *last_; }

 private:
  void on_command(const resp::Command& command, size_t end) override {
    begin_ = fed_ + end;
    const std::vector<std::string> words =
        wire::command_words(std::string_view(buffer_).substr(begin_ - command.size, command.size));
    if (words.empty() || last_) return;
    const std::string name = upper(words.front());
    if (const std::string own = of_the_connection(name, words); !own.empty()) {
      if (name == "QUIT") last_ = next_;
      return in_order_.put(next_++, own, &output_);
    }
    if (name == "MULTI" || transaction_) return in_transaction(name, words);
    Call call = call_of(name, next_);
    if (words.size() > 1) call.path = words[1];
    for (size_t i = 1; i < words.size(); ++i) call.arguments.push_back(words[i]);
    calls_.push_back({next_++, std::move(call)});
  }

  Call call_of(const std::string& name, uint64_t number) const {
    Call out;
    out.service = service_;
    out.kind = Kind::kRedis;
    out.method = name;
    out.number = number;
    out.arguments = Json::array();
    return out;
  }

  // A transaction is one call, which is answered at its EXEC (redis.io, 'Transactions').
  void in_transaction(const std::string& name, const std::vector<std::string>& words) {
    if (!transaction_) {
      transaction_ = call_of(name, next_);
      return in_order_.put(next_++, line('+', "OK"), &output_);
    }
    if (name == "EXEC") {
      calls_.push_back({next_++, std::move(*transaction_)});
      transaction_.reset();
      return;
    }
    if (name == "DISCARD") {
      transaction_.reset();
      return in_order_.put(next_++, line('+', "OK"), &output_);
    }
    if (name == "MULTI")
      return in_order_.put(next_++, line('-', "ERR MULTI calls can not be nested"), &output_);
    Json command = Json::array();
    for (const std::string& word : words) command.push_back(word);
    transaction_->arguments.push_back(std::move(command));
    in_order_.put(next_++, line('+', "QUEUED"), &output_);
  }

  // What every client may ask before its first command (redis.io, 'Connection management'); "": it is none of these.
  static std::string of_the_connection(const std::string& name,
                                       const std::vector<std::string>& words) {
    constexpr std::string_view kOk = "+OK\r\n";
    if (name == "PING") return words.size() > 1 ? bulk(words[1]) : "+PONG\r\n";
    if (name == "ECHO" && words.size() > 1) return bulk(words[1]);
    if (name == "AUTH" || name == "SELECT" || name == "QUIT" || name == "RESET" ||
        name == "READONLY")
      return std::string(kOk);
    if (name == "CLIENT")
      return words.size() > 1 && upper(words[1]) == "ID" ? ":1\r\n" : std::string(kOk);
    if (name == "COMMAND") return "*0\r\n";
    if (name == "INFO")
      return bulk(
          "# Server\r\nredis_version:7.0.0\r\nredis_mode:standalone\r\n# Persistence\r\nloading:0\r\n");
    if (name != "HELLO") return "";
    if (words.size() > 1 && words[1] != "2") return "-NOPROTO unsupported protocol version\r\n";
    return wire::resp_reply_bytes(
        {"server", "redis", "version", "7.0.0", "proto", 2, "id", 1, "mode", "standalone", "role",
         "master", "modules", Json::array()},
        kVersion);
  }

  const std::string service_;
  resp::CommandParser parser_;
  std::string buffer_;          // from the first byte of the command that is not whole
  size_t begin_ = 0, fed_ = 0;  // of the next command, and of what is fed, in `buffer_`
  uint64_t next_ = 0;
  std::optional<Call> transaction_;  // that is open
  std::optional<uint64_t> last_;
  InOrder in_order_;
};

}  // namespace

std::unique_ptr<StubConnection> make_redis_connection(std::string service) {
  return std::make_unique<RedisConnection>(std::move(service));
}

}  // namespace filibuster::stubs
