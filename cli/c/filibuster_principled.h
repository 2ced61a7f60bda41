// Principled tests with GoogleTest (C++17, POSIX): a test in blocks, which says what the service does under each
// fault. One file, to copy.
//
//   class Purchase : public filibuster::PrincipledTest {
//     void stub_block() override {
//       stub_for("user", rpc("shop.UserService/GetUser"), answer().message(R"({"user_id": "ann"})"));
//     }
//     void failure_block() override {
//       assert_fault_throws(rpc("shop.UserService/GetUser"), "UNAVAILABLE", "no user");
//       assert_on_exception("UNAVAILABLE", [this] { read_only_rpc(rpc("shop.CartService/GetCart")); });
//     }
//     void execute_block() override { order_ = place_order(); }
//     void assert_test_block() override { EXPECT_EQ(order_.total, 9000); }
//     void assert_stub_block() override { verify_that(rpc("shop.UserService/GetUser"), 1); }
//     Order order_;
//   };
//   FILIBUSTER_PRINCIPLED(Purchase)  // the test Purchase.principled
//
// The daemon directs: it says which block runs, in which execution, and what each execution proves. This file runs
// the blocks, tells what they called, and lists the executions when all have ended, since GoogleTest cannot add tests
// while tests run. Started plainly, it starts `filibuster principled` with the filibuster.json that is nearest to the
// test or to the working directory, or with that of --filibuster=CONFIG.
#ifndef FILIBUSTER_PRINCIPLED_H
#define FILIBUSTER_PRINCIPLED_H

#include <arpa/inet.h>
#include <cxxabi.h>
#include <fcntl.h>
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <typeinfo>
#include <utility>
#include <vector>

namespace filibuster {

class PrincipledTest;

namespace principled_detail {

// ---- JSON ----

// A value of JSON. Numbers and words are kept as they were written.
class Json {
 public:
  enum class Kind { kWord, kText, kArray, kObject };

  Json() = default;                                              // null
  Json(bool value) : text_(value ? "true" : "false") {}          // NOLINT: a value of JSON
  Json(int value) : text_(std::to_string(value)) {}              // NOLINT
  Json(const char* value) : kind_(Kind::kText), text_(value) {}  // NOLINT
  Json(std::string value) : kind_(Kind::kText), text_(std::move(value)) {}  // NOLINT
  static Json array() { return Json(Kind::kArray); }
  static Json object() { return Json(Kind::kObject); }

  // Throws std::invalid_argument if the text is no JSON.
  static Json parse(const std::string& text) {
    std::size_t at = 0;
    Json value = parse_value(text, &at);
    skip_blanks(text, &at);
    if (at != text.size()) no_json(text, at);
    return value;
  }

  Json& set(const std::string& name, Json value) {
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (names_[i] == name) return elements_[i] = std::move(value), *this;
    }
    names_.push_back(name);
    elements_.push_back(std::move(value));
    return *this;
  }
  Json& push(Json value) {
    elements_.push_back(std::move(value));
    return *this;
  }

  Json& last() { return elements_.back(); }

  // The member of this name, or null.
  const Json& operator[](const char* name) const {
    static const Json null;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (names_[i] == name) return elements_[i];
    }
    return null;
  }
  Kind kind() const { return kind_; }
  const std::vector<Json>& elements() const { return elements_; }
  bool is_true() const { return kind_ == Kind::kWord && text_ == "true"; }
  // Of a text.
  std::string text() const { return kind_ == Kind::kText ? text_ : ""; }

  std::string written() const {
    if (kind_ == Kind::kWord) return text_;
    if (kind_ == Kind::kText) return quoted(text_);
    const bool object = kind_ == Kind::kObject;
    std::string out(1, object ? '{' : '[');
    for (std::size_t i = 0; i < elements_.size(); ++i) {
      if (i != 0) out += ',';
      if (object) out += quoted(names_[i]) + ':';
      out += elements_[i].written();
    }
    return out + (object ? '}' : ']');
  }

 private:
  explicit Json(Kind kind) : kind_(kind) {}

  [[noreturn]] static void no_json(const std::string& text, std::size_t at) {
    throw std::invalid_argument("this is no JSON at character " + std::to_string(at) + ": " + text);
  }

  static void skip_blanks(const std::string& text, std::size_t* at) {
    while (*at < text.size() && std::strchr(" \t\r\n", text[*at]) != nullptr) ++*at;
  }

  static bool take(const std::string& text, std::size_t* at, char wanted) {
    skip_blanks(text, at);
    if (*at >= text.size() || text[*at] != wanted) return false;
    ++*at;
    return true;
  }

  static Json parse_value(const std::string& text, std::size_t* at) {
    skip_blanks(text, at);
    if (take(text, at, '{')) {
      Json made = object();
      if (take(text, at, '}')) return made;
      do {
        if (!take(text, at, '"')) no_json(text, *at);
        const std::string name = parse_text(text, at);
        if (!take(text, at, ':')) no_json(text, *at);
        made.set(name, parse_value(text, at));
      } while (take(text, at, ','));
      if (!take(text, at, '}')) no_json(text, *at);
      return made;
    }
    if (take(text, at, '[')) {
      Json made = array();
      if (take(text, at, ']')) return made;
      do made.push(parse_value(text, at));
      while (take(text, at, ','));
      if (!take(text, at, ']')) no_json(text, *at);
      return made;
    }
    if (take(text, at, '"')) return Json(parse_text(text, at));
    const std::size_t end = text.find_first_of(" \t\r\n,:]}", *at);
    Json made;
    made.text_ = text.substr(*at, end == std::string::npos ? end : end - *at);
    char* behind = nullptr;
    std::strtod(made.text_.c_str(), &behind);
    const bool number = made.text_.find_first_not_of("+-.eE0123456789") == std::string::npos &&
                        !made.text_.empty() && *behind == '\0';
    if (!number && made.text_ != "true" && made.text_ != "false" && made.text_ != "null") {
      no_json(text, *at);
    }
    *at += made.text_.size();
    return made;
  }

  // Behind the first quote.
  static std::string parse_text(const std::string& text, std::size_t* at) {
    std::string out;
    unsigned high = 0;
    for (; *at < text.size() && text[*at] != '"'; ++*at) {
      if (text[*at] != '\\') {
        out += text[*at];
        continue;
      }
      if (++*at >= text.size()) break;
      const char escaped = text[*at];
      if (escaped != 'u') {
        const char* const known = std::strchr("nrtbf", escaped);
        out += known != nullptr && *known != '\0' ? "\n\r\t\b\f"[known - &"nrtbf"[0]] : escaped;
        continue;
      }
      if (*at + 4 >= text.size()) break;
      const unsigned code = std::strtoul(text.substr(*at + 1, 4).c_str(), nullptr, 16);
      *at += 4;
      if (code >= 0xD800 && code < 0xDC00) {
        high = code;
      } else if (code >= 0xDC00 && code < 0xE000) {
        append_utf8(&out, 0x10000 + ((high & 0x3FF) << 10) + (code & 0x3FF));
      } else {
        append_utf8(&out, code);
      }
    }
    if (*at >= text.size()) no_json(text, *at);
    ++*at;
    return out;
  }

  static void append_utf8(std::string* out, unsigned code) {
    if (code < 0x80) {
      *out += static_cast<char>(code);
      return;
    }
    const int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    *out += static_cast<char>((more == 1 ? 0xC0 : more == 2 ? 0xE0 : 0xF0) | code >> (6 * more));
    for (int i = more - 1; i >= 0; --i) *out += static_cast<char>(0x80 | (code >> (6 * i) & 0x3F));
  }

  static std::string quoted(const std::string& text) {
    std::string out = "\"";
    for (const char c : text) {
      char escaped[8];
      if (static_cast<unsigned char>(c) < ' ') {
        std::snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned>(c));
        out += escaped;
      } else {
        if (c == '"' || c == '\\') out += '\\';
        out += c;
      }
    }
    return out + '"';
  }

  Kind kind_ = Kind::kWord;
  std::string text_ = "null";
  std::vector<std::string> names_;  // of an object
  std::vector<Json> elements_;
};

// A text that is an object or an array of JSON is that.
inline Json plain(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  const bool json = first != std::string::npos && (text[first] == '{' || text[first] == '[');
  return json ? Json::parse(text) : Json(text);
}

// ---- places in sources ----

// The name as it was compiled, made absolute if it is a file that is found from here.
inline std::string absolute(const std::string& file) {
  std::error_code error;
  const std::filesystem::path found = std::filesystem::absolute(file, error).lexically_normal();
  return !error && std::filesystem::exists(found, error) ? found.string() : file;
}

inline std::string place(const std::string& file, int line) {
  return absolute(file) + ":" + std::to_string(line);
}

// ---- the daemon ----

// The test as a whole fails with this text.
class Failure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

inline bool is_set(const char* variable) {
  const char* const value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

inline Json no_answer(const std::string& why) {
  throw Failure("filibuster's daemon did not answer: " + why);
}

// A connection to "http://127.0.0.1:PORT", or -1.
inline int connect_to(const char* url) {
  char host[64];
  int port = 0;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  if (std::sscanf(url, "http://%63[0-9.]:%d", host, &port) != 2) return -1;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  if (inet_pton(AF_INET, host, &address.sin_addr) != 1) return -1;
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd >= 0 && connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) return fd;
  if (fd >= 0) close(fd);
  return -1;
}

inline std::string refusal(const std::string& body) {
  try {
    std::string all;
    const Json answer = Json::parse(body);
    for (const Json& error : answer["errors"].elements()) {
      all += (all.empty() ? "" : "\n") + error["message"].text();
    }
    return all.empty() ? body : all;
  } catch (const std::invalid_argument&) {
    return body;
  }
}

// One connection for each post, which waits for the answer as long as it takes.
inline Json post(const Json& what) {
  const char* const url = std::getenv("FILIBUSTER_URL");
  const char* const token = std::getenv("FILIBUSTER_TOKEN");
  const int fd = url == nullptr ? -1 : connect_to(url);
  if (fd < 0) return no_answer("no connection");
  const std::string body = what.written();
  const std::string request =
      "POST /v1/blocks HTTP/1.1\r\nHost: " + std::string(url + std::strlen("http://")) +
      "\r\nAuthorization: Bearer " + (token == nullptr ? "" : token) +
      "\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) +
      "\r\nConnection: close\r\n\r\n" + body;
  std::string answer;
  for (std::size_t sent = 0; sent < request.size();) {
    const ssize_t one = send(fd, request.data() + sent, request.size() - sent, MSG_NOSIGNAL);
    if (one < 0 && errno == EINTR) continue;
    if (one <= 0) break;  // the daemon may have answered already
    sent += static_cast<std::size_t>(one);
  }
  char buffer[4096];
  ssize_t got;
  while ((got = recv(fd, buffer, sizeof buffer, 0)) > 0 || (got < 0 && errno == EINTR)) {
    if (got > 0) answer.append(buffer, static_cast<std::size_t>(got));
  }
  close(fd);
  const std::size_t end = answer.find("\r\n\r\n");
  if (answer.rfind("HTTP/1.", 0) != 0 || end == std::string::npos) {
    return no_answer("the connection was closed");
  }
  const std::string status = answer.substr(9, 3), said = answer.substr(end + 4);
  if (status != "200") {
    throw Failure("filibuster's daemon refused (" + status + "): " + refusal(said));
  }
  try {
    return Json::parse(said);
  } catch (const std::invalid_argument& error) {
    throw Failure(std::string("filibuster's daemon answered what is no instruction: ") +
                  error.what());
  }
}

}  // namespace principled_detail

// ---- what the blocks call ----

// The RPCs, or the faults, that a specification is about. What is left out matches anything.
class Key {
 public:
  // "shop.UserService/GetUser", "POST /orders", "/orders", or the name of a service.
  Key(const std::string& text) {  // NOLINT: a text is a key
    const std::size_t slash = text.find('/'), blank = text.find(' ');
    if (text.rfind('/', 0) == 0) {
      path(text);
    } else if (slash != std::string::npos && blank + 1 == slash) {
      method(text.substr(0, blank)).path(text.substr(slash));
    } else if (slash != std::string::npos) {
      with("grpc", text);
    } else {
      service(text);
    }
  }
  Key(const char* text) : Key(std::string(text)) {}  // NOLINT

  Key& service(const std::string& name) { return with("service", name); }
  Key& method(const std::string& name) { return with("method", name); }
  Key& path(const std::string& pattern) { return with("path", pattern); }
  // The whole request, as JSON.
  Key& request(const std::string& json) { return with("request", principled_detail::plain(json)); }
  // Fields of the request by JSON pointers: fields(R"({"/code": "DAILY"})").
  Key& fields(const std::string& json) { return with("fields", principled_detail::plain(json)); }
  // "grpc:UNAVAILABLE", "status:503", "timeout", ...
  Key& fault(const std::string& text) { return with("fault", text); }

 private:
  friend class PrincipledTest;
  Key& with(const char* name, principled_detail::Json value) {
    json_.set(name, std::move(value));
    return *this;
  }
  principled_detail::Json json_ = principled_detail::Json::object();
};

// A key, or several: these faults together.
class Keys {
 public:
  Keys(const Key& key) : keys_{key} {}                            // NOLINT: a key stands for itself
  Keys(const char* key) : keys_{key} {}                           // NOLINT
  Keys(const std::string& key) : keys_{Key(key)} {}               // NOLINT
  Keys(std::initializer_list<Key> together) : keys_(together) {}  // NOLINT

 private:
  friend class PrincipledTest;
  std::vector<Key> keys_;
};

// What a stub answers: docs/stubs.md. Bodies are JSON.
class Answer {
 public:
  Answer& status(int status) { return with("status", status); }
  Answer& headers(const std::string& json) {
    return with("headers", principled_detail::plain(json));
  }
  Answer& json(const std::string& body) {
    return with("json", principled_detail::Json::parse(body));
  }
  Answer& text(const std::string& body) { return with("text", body); }
  Answer& message(const std::string& json) {
    return with("message", principled_detail::plain(json));
  }
  Answer& code(const std::string& name) { return with("code", name); }
  Answer& status_message(const std::string& text) { return with("status_message", text); }
  Answer& reply(const std::string& json) {
    return with("reply", principled_detail::Json::parse(json));
  }
  Answer& delay(const std::string& time) { return with("delay", time); }  // "20ms"

 private:
  friend class PrincipledTest;
  Answer& with(const char* name, principled_detail::Json value) {
    json_.set(name, std::move(value));
    return *this;
  }
  principled_detail::Json json_ = principled_detail::Json::object();
};

// The name of a code of gRPC, or a status of HTTP.
class Code {
 public:
  Code(const char* name) : json_(name) {}             // NOLINT: a code is given as what it is
  Code(std::string name) : json_(std::move(name)) {}  // NOLINT
  Code(int status) : json_(status) {}                 // NOLINT

 private:
  friend class PrincipledTest;
  principled_detail::Json json_;
};

namespace principled_detail {

class Loop;

// What a block has called, and what it may need of the loop that runs it.
struct Running {
  std::string block;  // "": none runs
  Json calls = Json::array(), outcome;
  std::vector<std::function<void()>> closures;
  int suspended = 0;
  std::vector<std::string> groups;
  std::unique_ptr<Failure> broken;
  std::mutex one_post;

  // What a block posts while it runs. If that fails, the block's result is not worth posting.
  void beside(Json what) {
    try {
      post(what);
    } catch (const Failure& failure) {
      if (broken == nullptr) broken = std::make_unique<Failure>(failure);
      throw;
    }
  }
};

}  // namespace principled_detail

// A test in blocks. Each execution has an instance of its own, which the constructor without parameters makes.
class PrincipledTest {
 public:
  virtual ~PrincipledTest() = default;

  // Prepares what the test needs. Its calls get no faults.
  virtual void setup_block() {}
  // Says how the dependencies answer: stub_for.
  virtual void stub_block() {}
  // Says what the service does under faults: assert_fault_throws, assert_on_fault, ...
  virtual void failure_block() {}
  // Calls the service under test. Only here faults are injected.
  virtual void execute_block() = 0;
  // What holds after the execution without faults, and under faults that have no impact.
  virtual void assert_test_block() {}
  // How often each stub was called: verify_that.
  virtual void assert_stub_block() {}
  // Tidies up. Its calls get no faults.
  virtual void teardown_block() {}

 protected:
  using Block = std::function<void()>;

  static Key rpc(const std::string& text) { return Key(text); }
  static Answer answer() { return Answer(); }

// Where a call stands in the test; the compiler fills it in.
#define FILIBUSTER_HERE const char *file = __builtin_FILE(), int line = __builtin_LINE()

  // Calls of `service` that match the key are answered so; several answers are a sequence.
  void stub_for(const std::string& service, const Key& key, const Answer& answer, FILIBUSTER_HERE) {
    stub(service, key, answer.json_, file, line);
  }
  void stub_for(const std::string& service, const Key& key, std::initializer_list<Answer> answers,
                FILIBUSTER_HERE) {
    Json all = Json::array();
    for (const Answer& one : answers) all.push(one.json_);
    stub(service, key, all, file, line);
  }

  // These RPCs were made so often. Under a fault in one of them the number is adjusted.
  void verify_that(const Key& key, int times, FILIBUSTER_HERE) {
    called("verify_that", file, line).set("key", key.json_).set("times", times);
  }

  // Under this fault, or these together, the service answers with the error `code`.
  void assert_fault_throws(const Keys& keys, const Code& code, const char* message = nullptr,
                           FILIBUSTER_HERE) {
    called("assert_fault_throws", file, line)
        .set("keys", all(keys))
        .set("code", code.json_)
        .set("message", message == nullptr ? Json() : Json(message));
  }

  // Under this fault the service answers with the same error.
  void assert_fault_propagates(const Key& key, FILIBUSTER_HERE) {
    called("assert_fault_propagates", file, line).set("keys", all(key));
  }

  // Under this fault the assertions of assert_test_block hold.
  void assert_fault_has_no_impact(const Key& key, FILIBUSTER_HERE) {
    called("assert_fault_has_no_impact", file, line).set("keys", all(key));
  }

  // Under this fault, or these together, the service answers, and the assertions of `block` hold.
  void assert_on_fault(const Keys& keys, Block block, FILIBUSTER_HERE) {
    called("assert_on_fault", file, line)
        .set("keys", all(keys))
        .set("specification", number(std::move(block)));
  }

  // Whenever the service answers with the error `code`, the assertions of `block` hold.
  void assert_on_exception(const Code& code, Block block, FILIBUSTER_HERE) {
    called("assert_on_exception", file, line)
        .set("code", code.json_)
        .set("specification", number(std::move(block)));
  }

  // In a block of an exception or a fault: these RPCs change nothing, and may be made or not.
  void read_only_rpc(const Key& key, FILIBUSTER_HERE) {
    called("read_only_rpc", file, line).set("key", key.json_);
  }

  // In a block of an exception or a fault: these RPCs change something, and are made so often.
  void side_effecting_rpc(const Key& key, int times, FILIBUSTER_HERE) {
    called("side_effecting_rpc", file, line).set("key", key.json_).set("times", times);
  }

#undef FILIBUSTER_HERE

  // In execute_block: the service has answered, or has answered with this error, whatever was on the wire.
  void outcome() {
    running("outcome").outcome = Json::object().set("thrown", false);
  }
  void outcome(const Code& code, const std::string& message) {
    running("outcome").outcome =
        Json::object().set("thrown", true).set("code", code.json_).set("message", message);
  }

  // Calls inside of `block` get no faults.
  void without_faults(const Block& block) {
    Running* const now = &running("without_faults");
    const auto step = [now](int by) {
      const std::lock_guard<std::mutex> lock(now->one_post);
      now->suspended += by;
      if (now->suspended == (by > 0 ? 1 : 0)) now->beside(Json::object().set("suspend", by > 0));
    };
    step(1);
    around(block, [&] { step(-1); });
  }

  // Calls inside of `block` are shown together in the report.
  void group(const std::string& name, const Block& block) {
    Running* const now = &running("group");
    const auto tell = [now] {
      now->beside(
          Json::object().set("group", now->groups.empty() ? Json() : Json(now->groups.back())));
    };
    now->groups.push_back(name);
    tell();
    around(block, [&] {
      now->groups.pop_back();
      tell();
    });
  }

 private:
  friend class principled_detail::Loop;
  using Json = principled_detail::Json;
  using Running = principled_detail::Running;

  template <typename Last>
  static void around(const Block& block, const Last& last) {
    try {
      block();
    } catch (...) {
      last();
      throw;
    }
    last();
  }

  static Json all(const Keys& keys) {
    Json all = Json::array();
    for (const Key& key : keys.keys_) all.push(key.json_);
    return all;
  }

  void stub(const std::string& service, const Key& key, const Json& answer, const char* file,
            int line) {
    Json stub = key.json_;
    called("stub_for", file, line).set("service", service).set("stub", stub.set("answer", answer));
  }

  Running& running(const char* api) {
    if (running_ == nullptr || running_->block.empty()) {
      throw std::logic_error(std::string(api) +
                             "() was called outside of every block: only a block that filibuster "
                             "runs may call it");
    }
    return *running_;
  }

  int number(Block block) {
    running_->closures.push_back(std::move(block));
    return static_cast<int>(running_->closures.size()) - 1;
  }

  Json& called(const char* api, const char* file, int line) {
    Json& calls = running(api).calls;
    calls.push(Json::object().set("api", api).set("at", principled_detail::place(file, line)));
    return calls.last();
  }

  Running* running_ = nullptr;  // of the loop that runs this instance
};

namespace principled_detail {

using Maker = std::function<std::unique_ptr<PrincipledTest>()>;

// What became of an execution.
struct Execution {
  std::string name;
  bool ended = false, passed = false;
  std::string text;
};

// Takes 'begin', 'end' and 'finish'.
class Executions {
 public:
  void take(const Json& instruction) {
    const std::string what = instruction["do"].text();
    if (what == "begin") {
      all_.push_back({instruction["name"].text(), false, false, "the execution did not end"});
    } else if (what == "end" && !all_.empty()) {
      all_.back().ended = true;
      all_.back().passed = instruction["passed"].is_true();
      all_.back().text = instruction["text"].text();
    } else if (what == "finish") {
      finished_ = true;
      problem_ = instruction["passed"].is_true() ? "" : instruction["text"].text();
      if (!instruction["passed"].is_true() && problem_.empty()) {
        problem_ = "the principled test failed";
      }
    }
  }

  bool finished() const { return finished_; }
  void problem(const std::string& text) { problem_ = text; }

  // The list, and the failures, of GoogleTest.
  void show(const std::string& test, const char* file, int line) const {
    for (const Execution& one : all_) {
      std::printf("[ %s ] %s[%s]\n", one.passed ? "   passed" : "   failed", test.c_str(),
                  one.name.c_str());
      if (!one.passed) {
        ADD_FAILURE_AT(file, line) << test << "[" << one.name << "]\n" << one.text;
      }
    }
    std::fflush(stdout);
    if (!problem_.empty()) ADD_FAILURE_AT(file, line) << problem_;
  }

 private:
  std::vector<Execution> all_;
  bool finished_ = false;
  std::string problem_;
};

class Loop {
 public:
  explicit Loop(Maker make) : make_(std::move(make)) {}

  void run(const Json& hello, Executions* executions) {
    Json instruction = post(Json::object().set("hello", hello));
    while (!executions->finished()) {
      executions->take(instruction);
      if (!executions->finished()) instruction = post(follow(instruction));
    }
  }

 private:
  using Part = void (PrincipledTest::*)();

  Json follow(const Json& instruction) {
    const std::string what = instruction["do"].text();
    if (what == "wait") return Json::object().set("waiting", true);
    if (what == "begin") {
      instance_.reset();
      now_.closures.clear();
      now_.suspended = 0;
      now_.groups.clear();
      return Json::object().set("begun", instruction["execution"]);
    }
    if (what == "end") return Json::object().set("ended", instruction["execution"]);
    if (what == "run") return Json::object().set("ran", ran(instruction));
    unknown(instruction);
  }

  [[noreturn]] static void unknown(const Json& instruction) {
    throw Failure("the instruction " + instruction.written() +
                  " of filibuster's daemon is unknown: filibuster_principled.h and filibuster are "
                  "of different versions");
  }

  Json ran(const Json& instruction) {
    now_.block = instruction["block"].text();
    now_.calls = Json::array();
    now_.outcome = Json();
    testing::TestPartResultArray parts;
    std::string thrown;
    {
      // What fails in a block is the daemon's to judge, and not yet a failure of GoogleTest.
      testing::ScopedFakeTestPartResultReporter captured(
          testing::ScopedFakeTestPartResultReporter::INTERCEPT_ALL_THREADS, &parts);
      try {
        body(instruction)();
      } catch (const Failure&) {
        throw;
      } catch (const std::exception& error) {
        thrown = name_of(error);
      } catch (...) {
        thrown = "an exception of an unknown type";
      }
    }
    const std::string block = std::exchange(now_.block, "");
    if (now_.broken != nullptr) throw Failure(*now_.broken);
    return result(block, parts, thrown).set("calls", now_.calls).set("outcome", now_.outcome);
  }

  static std::string name_of(const std::exception& error) {
    int status = 0;
    const std::unique_ptr<char, void (*)(void*)> name(
        abi::__cxa_demangle(typeid(error).name(), nullptr, nullptr, &status), &std::free);
    return (name != nullptr ? name.get() : typeid(error).name()) + std::string(": ") + error.what();
  }

  static Json result(const std::string& block, const testing::TestPartResultArray& parts,
                     const std::string& thrown) {
    std::string message, at, trace;
    for (int i = 0; i < parts.size(); ++i) {
      const testing::TestPartResult& part = parts.GetTestPartResult(i);
      if (part.passed()) continue;
      const std::string where =
          part.file_name() == nullptr ? "" : place(part.file_name(), part.line_number());
      const std::string text = (part.skipped() ? "skipped: " : "") + std::string(part.message());
      if (trace.empty()) {
        message = text;
        at = where;
      }
      trace += where + ": " + text + "\n";
    }
    if (!thrown.empty()) {
      if (trace.empty()) message = thrown;
      trace += "thrown: " + thrown + "\n";
    }
    return Json::object()
        .set("block", block)
        .set("passed", trace.empty())
        .set("message", bounded(message))
        .set("at", at)
        .set("trace", bounded(trace));
  }

  static std::string bounded(std::string text) {
    constexpr std::size_t kMost = 64 * 1024;
    static const char cut[] = "\n[the end was cut]";
    if (text.size() <= kMost) return text;
    std::size_t size = kMost - sizeof cut;
    while ((static_cast<unsigned char>(text[size]) & 0xC0) == 0x80) --size;
    return text.substr(0, size) + cut;
  }

  std::function<void()> body(const Json& instruction) {
    static const std::pair<const char*, Part> parts[] = {
        {"setup", &PrincipledTest::setup_block},
        {"stub", &PrincipledTest::stub_block},
        {"failure", &PrincipledTest::failure_block},
        {"execute", &PrincipledTest::execute_block},
        {"assert_test", &PrincipledTest::assert_test_block},
        {"assert_stubs", &PrincipledTest::assert_stub_block},
        {"teardown", &PrincipledTest::teardown_block}};
    if (instance_ == nullptr) {
      instance_ = make_();
      instance_->running_ = &now_;
    }
    for (const auto& [name, part] : parts) {
      const Part run = part;
      if (now_.block == name) return [this, run] { (instance_.get()->*run)(); };
    }
    const std::string number = instruction["specification"].written();
    const std::size_t index = std::strtoul(number.c_str(), nullptr, 10);
    if (number == "null" || index >= now_.closures.size()) unknown(instruction);
    return now_.closures[index];
  }

  const Maker make_;
  Running now_;
  std::unique_ptr<PrincipledTest> instance_;
};

// ---- started plainly: filibuster starts this program once more, inside of a session ----

// The words of this process, of which GoogleTest keeps none.
inline std::vector<std::string> own_words() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  return words;
}

inline std::string configuration(const char* test_file) {
  namespace fs = std::filesystem;
  const std::string option = "--filibuster=";
  for (const std::string& word : own_words()) {
    if (word.rfind(option, 0) == 0) return fs::absolute(word.substr(option.size())).string();
  }
  std::error_code error;
  for (const fs::path& from : {fs::path(absolute(test_file)).parent_path(), fs::current_path()}) {
    for (fs::path folder = from; folder.is_absolute(); folder = folder.parent_path()) {
      if (fs::is_regular_file(folder / "filibuster.json", error)) {
        return (folder / "filibuster.json").string();
      }
      if (folder == folder.parent_path()) break;
    }
  }
  throw Failure(
      "there is no filibuster.json in the folder of the test, in the working directory, or above "
      "them: write one, or name it by --filibuster=CONFIG");
}

inline std::string read_all(std::FILE* file) {
  std::string all;
  std::rewind(file);
  for (int c; (c = std::getc(file)) != EOF;) all += static_cast<char>(c);
  return all;
}

inline void explore(const std::string& test, const char* test_file, Executions* executions) {
  std::vector<std::string> words = {"filibuster",  "principled", "-c", configuration(test_file),
                                    "--in-runner", "--"};
  words.push_back(std::filesystem::read_symlink("/proc/self/exe").string());
  words.push_back("--gtest_filter=" + test);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);

  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> errors(std::tmpfile(), &std::fclose);
  int ends[2];
  if (errors == nullptr || pipe2(ends, O_CLOEXEC) != 0) throw Failure(std::strerror(errno));
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDOUT_FILENO);
    dup2(fileno(errors.get()), STDERR_FILENO);
    execvp(arguments[0], arguments.data());
    dprintf(STDERR_FILENO, "`filibuster`, which runs principled tests, could not be run: %s\n",
            std::strerror(errno));
    _exit(127);
  }
  close(ends[1]);
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> told(fdopen(ends[0], "r"), &std::fclose);
  std::string line, other;
  for (int c; child > 0 && (c = std::getc(told.get())) != EOF;) {
    line += static_cast<char>(c);
    if (c != '\n') continue;
    try {
      executions->take(Json::parse(line));
    } catch (const std::invalid_argument&) {
      other += line;
    }
    line.clear();
  }
  int status = 0;
  while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (executions->finished()) return;
  const std::string how = WIFEXITED(status)
                              ? "ended with exit status " + std::to_string(WEXITSTATUS(status))
                              : "was ended by signal " + std::to_string(WTERMSIG(status));
  throw Failure("`filibuster principled` " + how + " before the test did:\n" + other + line +
                read_all(errors.get()));
}

inline void run(const std::string& test, const char* file, int line, Maker make) {
  Executions executions;
  try {
    if (is_set("FILIBUSTER_BLOCKS")) {
      Loop loop(std::move(make));
      loop.run(Json::object()
                   .set("form", "gtest")
                   .set("test", test)
                   .set("file", absolute(file))
                   .set("line", line),
               &executions);
    } else if (is_set("FILIBUSTER_URL")) {
      throw Failure(
          "this is a principled test, which `filibuster principled` runs, and not `filibuster run`");
    } else {
      explore(test, file, &executions);
    }
  } catch (const Failure& failure) {
    executions.problem(failure.what());
  }
  executions.show(test, file, line);
}

}  // namespace principled_detail
}  // namespace filibuster

// The test Class.principled of GoogleTest, which runs all executions.
#define FILIBUSTER_PRINCIPLED(Class)                                                \
  TEST(Class, principled) {                                                         \
    ::filibuster::principled_detail::run(#Class ".principled", __FILE__, __LINE__,  \
                                         [] { return std::make_unique<Class>(); }); \
  }

#endif
