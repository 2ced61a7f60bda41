#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/fastcgi/requests.h"

namespace filibuster::fastcgi {
namespace {

std::string record(char type, std::string_view content, char padding = 0, char id = 1) {
  std::string out{'\1',
                  type,
                  '\0',
                  id,
                  static_cast<char>(content.size() >> 8),
                  static_cast<char>(content.size()),
                  padding,
                  '\0'};
  out += content;
  return out + std::string(static_cast<size_t>(padding), 'p');
}

std::string begin(char id = 1) {
  return record(1, std::string_view("\0\1\0\0\0\0\0\0", 8), 0, id);
}

std::string size_text(size_t size) {
  if (size < 128) return {static_cast<char>(size)};
  return {static_cast<char>(0x80 | size >> 24), static_cast<char>(size >> 16),
          static_cast<char>(size >> 8), static_cast<char>(size)};
}

std::string pair(std::string_view name, std::string_view value) {
  return size_text(name.size()) + size_text(value.size()) + std::string(name) + std::string(value);
}

struct Seen final : RequestHandler, AnswerHandler {
  std::vector<std::string> all;
  void on_request(uint16_t id, std::string_view method, std::string_view target,
                  std::string_view field) override {
    all.push_back(std::to_string(id) + " " + std::string(method) + " " + std::string(target) + " " +
                  std::string(field));
  }
  void on_end(uint16_t id, uint16_t status) override {
    all.push_back(std::to_string(id) + " " + std::to_string(status));
  }
};

// However the bytes are cut, the same comes out.
template <typename Parser>
std::vector<std::string> parsed(std::string_view bytes) {
  std::vector<std::string> first;
  for (size_t step = 1; step <= bytes.size(); ++step) {
    Parser parser;
    Seen seen;
    for (size_t at = 0; at < bytes.size(); at += step) {
      const std::string_view part = bytes.substr(at, step);
      EXPECT_TRUE(parser.feed(part.data(), part.size(), &seen));
    }
    if (step == 1) first = seen.all;
    EXPECT_EQ(seen.all, first) << step;
  }
  return first;
}

TEST(FastCgi, ARequestWithItsFieldIsRead) {
  const std::string parameters = pair("SCRIPT_FILENAME", "/srv/index.php") +
                                 pair("REQUEST_METHOD", "GET") + pair("REQUEST_URI", "/a?b=1") +
                                 pair("QUERY_STRING", "") + pair("HTTP_X_FILIBUSTER", "field") +
                                 pair("HTTP_COOKIE", std::string(300, 'c'));
  // The stream of parameters may be cut anywhere.
  const std::string bytes = begin() + record(4, std::string_view(parameters).substr(0, 20), 4) +
                            record(4, std::string_view(parameters).substr(20)) + record(4, "") +
                            record(5, "body", 4) + record(5, "");
  EXPECT_EQ(parsed<RequestParser>(bytes + bytes),
            (std::vector<std::string>{"1 GET /a?b=1 field", "1 GET /a?b=1 field"}));
}

TEST(FastCgi, TheNextRequestDoesNotHaveTheFieldOfTheOneBefore) {
  const std::string with = begin() + record(4, pair("HTTP_X_FILIBUSTER", "field")) + record(4, "");
  const std::string without =
      begin(2) + record(4, pair("REQUEST_METHOD", "PUT"), 0, 2) + record(4, "", 0, 2);
  EXPECT_EQ(parsed<RequestParser>(with + without),
            (std::vector<std::string>{"1   field", "2 PUT  "}));
}

TEST(FastCgi, AFieldThatIsTooLongIsNone) {
  const std::string bytes =
      begin() + record(4, pair("HTTP_X_FILIBUSTER", std::string(129, 'x'))) + record(4, "");
  EXPECT_EQ(parsed<RequestParser>(bytes), std::vector<std::string>{"1   "});
}

TEST(FastCgi, OtherBytesAreRefused) {
  RequestParser parser;
  Seen seen;
  EXPECT_FALSE(parser.feed("GET / HTTP/1.1\r\n", 16, &seen));
  AnswerParser answers;
  EXPECT_FALSE(answers.feed("HTTP/1.1 200 OK\r\n", 17, &seen));
}

TEST(FastCgi, AnAnswerHasItsStatus) {
  const std::string end(8, '\0');
  const std::string bytes =
      record(6, "Status: 404 Not Found\r\nContent-type: text/html\r\n\r\nStatus: 500 x\n", 3) +
      record(7, "a warning") + record(6, "") + record(3, end) + record(6, "X: y\n\nbody") +
      record(3, end);
  EXPECT_EQ(parsed<AnswerParser>(bytes), (std::vector<std::string>{"1 404", "1 200"}));
}

TEST(FastCgi, ARefusedRequestHasNoStatus) {
  const std::string overloaded("\0\0\0\0\2\0\0\0", 8);
  EXPECT_EQ(parsed<AnswerParser>(record(3, overloaded)), std::vector<std::string>{"1 0"});
}

TEST(FastCgi, IsKnownByItsFirstBytes) {
  const std::string first = begin();
  for (size_t size = 0; size < 10; ++size)
    EXPECT_EQ(sniff(first.substr(0, size)), Sniff::kNeedMore) << size;
  EXPECT_EQ(sniff(first), Sniff::kRequest);
  EXPECT_EQ(sniff("GET / HTTP/1.1"), Sniff::kOther);
  EXPECT_EQ(sniff(std::string_view("\x16\3\1\0", 4)), Sniff::kOther);
}

}  // namespace
}  // namespace filibuster::fastcgi
