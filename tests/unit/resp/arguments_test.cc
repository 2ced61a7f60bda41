#include "core/resp/arguments.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace filibuster::resp {
namespace {

class Text final : public TextSink {
 public:
  void text(const char* data, size_t size) override { all.append(data, size); }
  std::string all;
};

std::string command(const std::vector<std::string>& words) {
  std::string out = "*" + std::to_string(words.size()) + "\r\n";
  for (const std::string& word : words)
    out += "$" + std::to_string(word.size()) + "\r\n" + word + "\r\n";
  return out;
}

// As one, and in pieces of every size: they must be the same.
std::string text_of(const std::string& bytes, uint32_t members) {
  std::string whole;
  for (size_t piece = bytes.size(); piece != 0; --piece) {
    Text out;
    ArgumentText text = members == 0 ? ArgumentText(&out) : ArgumentText(&out, members);
    for (size_t at = 0; at < bytes.size(); at += piece)
      text.feed(bytes.data() + at, std::min(piece, bytes.size() - at));
    text.finish();
    if (whole.empty()) whole = out.all;
    EXPECT_EQ(out.all, whole) << "in pieces of " << piece;
  }
  return whole;
}

TEST(RespArguments, StandByTheirNumbersWithoutTheName) {
  EXPECT_EQ(text_of(command({"SET", "user:42", "x"}), 0), R"({"1":"user:42","2":"x"})");
  EXPECT_EQ(text_of(command({"GET", ""}), 0), R"({"1":""})");
  EXPECT_EQ(text_of(command({"PING"}), 0), "{}");
  EXPECT_EQ(
      text_of(command({"DEL", "1", "2", "3", "4", "5", "6", "7", "8", "9", "ten"}), 0),
      R"({"1":"1","2":"2","3":"3","4":"4","5":"5","6":"6","7":"7","8":"8","9":"9","10":"ten"})");
}

TEST(RespArguments, AreJsonWhateverTheyHold) {
  EXPECT_EQ(text_of(command({"SET", "k", "{\"a\":\"b\\c\"}"}), 0),
            R"({"1":"k","2":"{\"a\":\"b\\c\"}"})");
  EXPECT_EQ(text_of(command({"SET", "k", std::string("\0\r\n\x1f", 4)}), 0),
            R"({"1":"k","2":"\u0000\u000d\u000a\u001f"})");
  EXPECT_EQ(text_of(command({"SET", "k", "\xc3\xa9"}), 0), "{\"1\":\"k\",\"2\":\"\xc3\xa9\"}");
}

TEST(RespArguments, ATransactionIsItsCommandsByTheirNumbers) {
  const std::string bytes = command({"MULTI"}) + command({"SET", "user:42", "x"}) +
                            command({"INCR", "visits"}) + command({"EXEC"});
  EXPECT_EQ(text_of(bytes, 2),
            R"({"1":{"0":"SET","1":"user:42","2":"x"},"2":{"0":"INCR","1":"visits"}})");
  EXPECT_EQ(text_of(command({"MULTI"}) + command({"EXEC"}), 0), "{}");
}

TEST(RespArguments, AnEmptyTransactionIsEmpty) {
  Text out;
  ArgumentText text(&out, 0);
  const std::string bytes = command({"MULTI"}) + command({"EXEC"});
  text.feed(bytes.data(), bytes.size());
  text.finish();
  EXPECT_EQ(out.all, "{}");
}

}  // namespace
}  // namespace filibuster::resp
