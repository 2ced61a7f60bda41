#include "daemon/cases/case_file.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "core/text/base64.h"
#include "daemon/cases/file_text.h"
#include "daemon/cases/route.h"
#include "daemon/cases/time_text.h"
#include "daemon/wire/resp_value.h"
#include "tests/unit/cases/recipe.h"

namespace filibuster::cases {
namespace {

ReadBeside files_of(const WrittenFile& file) {
  const std::map<std::string, std::string> all(file.beside.begin(), file.beside.end());
  return [all](const std::string& name) {
    const auto found = all.find(name);
    return found == all.end() ? std::nullopt : std::optional(found->second);
  };
}

ReadCase read_back(const WrittenFile& file) {
  return read_case(file.text, "cases/x.json", files_of(file));
}

// "12:5: message" for each error.
std::string errors_of(const std::string& text, Seal seal = Seal::kChecked) {
  const ReadCase read = read_case(
      text, "cases/x.json", [](const std::string&) { return std::nullopt; }, seal);
  std::string out;
  for (const ConfigError& each : read.errors)
    out +=
        std::to_string(each.line) + ":" + std::to_string(each.column) + ": " + each.message + "\n";
  return out;
}

std::string changed(std::string text, std::string_view from, std::string_view to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(CaseFile, AReviewerReadsIt) {
  std::string text = write_case(order_case(), "9a1c").text;
  const size_t seal = text.find("\"seal\": \"") + 9;
  text.replace(seal, 32, "SEAL");
  EXPECT_EQ(text, R"({
  "format": 1,
  "service": "orders",
  "route": "POST /orders",
  "base": "2026-11-30T09:14:07.123456Z",
  "seen": 1,
  "request": {
    "method": "POST",
    "target": "/orders",
    "headers": [["Content-Type", "application/json"]],
    "json": {"item": 7},
    "style": "python"
  },
  "calls": [
    {"kind": "redis", "to": "cache", "site": "4be1c07a", "call": ["GET", "price:7"], "reply": null},
    {
      "kind": "http",
      "to": "pricing",
      "site": "90d2f31c",
      "method": "GET",
      "target": "/prices/7",
      "answer": {"status": 200, "json": {"cents": 950}}
    },
    {"kind": "redis", "to": "cache", "site": "1f00aa42", "call": ["SET", "price:7", "950"], "reply": {"status": "OK"}},
    {
      "kind": "http",
      "to": "mail",
      "site": "c7713b0e",
      "after": [1],
      "method": "POST",
      "target": "/send",
      "json": {"to": "ann"},
      "answer": {"status": 200}
    }
  ],
  "answer": {"status": 201, "headers": [["Content-Type", "application/json"]], "json": {"id": 7, "total": 950}, "style": "compact-line"},
  "seal": "SEAL"
}
)");
}

TEST(CaseFile, ComesBack) {
  const Case of = order_case();
  const WrittenFile file = write_case(of, "9a1c");
  const ReadCase read = read_back(file);
  EXPECT_TRUE(read.errors.empty()) << errors_of(file.text);
  EXPECT_TRUE(read.value == of);
  EXPECT_EQ(read.value.calls[1].line, 16);
  EXPECT_EQ(read.value.file, "cases/x.json");
  EXPECT_EQ(write_case(read.value, "9a1c").text, file.text);
}

TEST(CaseFile, LargeAndBinaryBodiesStandBesideIt) {
  Case of = order_case();
  of.request.body = std::string("\xff\x00\x01", 3);
  of.calls[1].answer.body = std::string(kMostInline + 1, 'x');
  const WrittenFile file = write_case(of, "9a1c");
  ASSERT_EQ(file.beside.size(), 2u);
  EXPECT_EQ(file.beside[0].first, "9a1c.1.bin");
  EXPECT_TRUE(read_back(file).value == of);
  EXPECT_EQ(errors_of(file.text).substr(0, 6), "11:13:");
  EXPECT_NE(errors_of(file.text).find("the file '9a1c.1.bin' is not there"), std::string::npos);
  WrittenFile other = file;
  other.beside[0].second[2] = 2;
  EXPECT_NE(read_back(other).errors.at(0).message.find("other bytes"), std::string::npos);
  other.beside[0].second += "x";
  EXPECT_NE(read_back(other).errors.at(0).message.find("has 4 bytes, not 3"), std::string::npos);
}

TEST(CaseFile, ABodyFileDoesNotLeaveTheFolder) {
  Case of = order_case();
  of.request.body = "\xff";
  const std::string text = write_case(of, "9a1c").text;
  for (const std::string_view name : {"../x.bin", "/etc/passwd", ".x", "", "a/b", "a\\\\b"}) {
    const std::string bad = changed(text, "9a1c.1.bin", name);
    EXPECT_NE(errors_of(bad, Seal::kIgnored).find("'file': expected the name of a file"),
              std::string::npos)
        << name;
  }
}

TEST(CaseFile, ACutFileIsRefusedWhereverItIsCut) {
  const std::string text = write_case(order_case(), "9a1c").text;
  for (size_t size = 0; size < text.size(); ++size)
    EXPECT_NE(errors_of(text.substr(0, size)), "") << size;
}

TEST(CaseFile, AnEditedFileIsRefusedAndCanBeAccepted) {
  const std::string text = write_case(order_case(), "9a1c").text;
  const std::string edited = changed(text, "\"cents\": 950", "\"cents\": 951");
  EXPECT_EQ(errors_of(edited),
            "37:11: the file was changed after it was sealed; look at it, and seal it anew with "
            "`filibuster cases accept FILE`\n");
  EXPECT_EQ(errors_of(edited, Seal::kIgnored), "");
  const ReadCase read = read_case(
      edited, "x", [](const std::string&) { return std::nullopt; }, Seal::kIgnored);
  EXPECT_EQ(errors_of(write_case(read.value, "9a1c").text), "");
  // No byte of it may change, not even behind the seal.
  for (size_t at = 0; at < text.size(); ++at) {
    std::string other = text;
    other[at] = other[at] == ' ' ? '\t' : ' ';
    EXPECT_NE(errors_of(other), "") << at;
  }
  EXPECT_NE(errors_of(text + "\n"), "");
}

struct Wrong {
  std::string_view from, to, error;
};
constexpr Wrong kWrong[] = {
    {"\"format\": 1", "\"format\": 2",
     "2:13: 'format' (another version of Filibuster wrote the file?): expected a whole number from 1 to 1"},
    {"\"seen\": 1", "\"seem\": 1", "unknown key 'seem' in a case; did you mean 'seen'?"},
    {"\"seen\": 1", "\"seen\": \"1\"", "6:11: 'seen': expected a whole number"},
    {"\"base\": \"2026", "\"base\": \"26", "5:11: 'base': expected a time"},
    {"\"base\": \"2026-11-30", "\"base\": \"2026-11-31", "5:11: 'base': expected a time"},
    {"\"service\": \"orders\"", "\"service\": \"../x\"", "3:14: 'service': expected 1 to 103"},
    {"\"route\": \"POST /orders\"", "\"route\": \"POST /../..\"",
     "4:12: 'route': that of the request is 'POST /orders'"},
    {"\"kind\": \"http\"", "\"kind\": \"ftp\"", "'kind': expected 'http' or 'redis'"},
    {"\"after\": [1]", "\"after\": [3]",
     "29:17: a call in 'after': expected a whole number from 0 to 2"},
    {"\"after\": [1]", "\"after\": [1, 1]", "'after': calls stand in their order, each once"},
    {"\"after\": [1]", "\"attempt_of\": 0",
     "'attempt_of': expected the first attempt of a call to the same service"},
    {"\"reply\": null", "\"reply\": 1.5", "15:95: 'reply': expected a text"},
    {", \"reply\": null", "", "15:5: a call needs 'reply', or 'silence' or 'ends' where none came"},
    {"\"call\": [\"GET\", \"price:7\"]", "\"call\": []", "'call': expected the words of a command"},
    {"\"style\": \"python\"", "\"style\": \"perl\"", "'style': expected 'compact'"},
    {"\"style\": \"python\"", "\"text\": \"x\"", "a body has one form"},
    {"\"json\": {\"item\": 7},", "", "'style' says how 'json' was written"},
    {"\"method\": \"GET\"", "\"method\": \"GET /\"", "'method': expected a method"},
    {"\"target\": \"/prices/7\"", "\"target\": \"/ HTTP/1.1\"", "'target': expected a target"},
    {"\"Content-Type\"", "\"Content-Type: x\\r\\nHost\"", "a header that no message can have"},
    {"\"answer\": {\"status\": 200}", "\"answer\": {}", "'answer' needs 'status'"},
    {"\"answer\": {\"status\": 200}", "\"answer\": {\"status\": 200, \"pieces\": [[3, 10]]}",
     "'pieces' have 3 bytes, the body has 0"},
    {"\"calls\": [", "\"dice\": [], \"calls\": [", "14:3: unknown key 'dice' in a case"},
};

TEST(CaseFile, EachThingThatIsWrongIsNamedWithItsPlace) {
  const std::string text = write_case(order_case(), "9a1c").text;
  for (const Wrong& wrong : kWrong) {
    const std::string errors = errors_of(changed(text, wrong.from, wrong.to), Seal::kIgnored);
    EXPECT_NE(errors.find(wrong.error), std::string::npos) << wrong.to << "\ngave\n"
                                                           << errors << "wanted\n"
                                                           << wrong.error;
  }
}

Case case_with_draws() {
  Case out = order_case();
  out.draws = {{"python", std::string("\0\xff", 2), "4be1c07a"},
               {"/dev/urandom", "abc", ""},
               {"java", "", "90d2f31c", 16}};
  return out;
}

TEST(CaseFile, RandomNumbersStandBeforeTheCalls) {
  const WrittenFile file = write_case(case_with_draws(), "9a1c");
  EXPECT_NE(file.text.find(R"(
  "draws": [
    {"from": "python", "bytes": "AP8=", "site": "4be1c07a"},
    {"from": "/dev/urandom", "bytes": "YWJj"},
    {"from": "java", "own": 16, "site": "90d2f31c"}
  ],
  "calls": [)"),
            std::string::npos)
      << file.text;
  const ReadCase read = read_back(file);
  EXPECT_TRUE(read.errors.empty());
  EXPECT_TRUE(read.value == case_with_draws());
}

TEST(CaseFile, EachThingThatIsWrongInARandomNumberIsNamed) {
  const std::string text = write_case(case_with_draws(), "9a1c").text;
  const auto errors = [&](std::string_view from, std::string_view to) {
    return errors_of(changed(text, from, to), Seal::kIgnored);
  };
  const std::string size = "'bytes': expected up to 4096 bytes in base64";
  EXPECT_NE(errors("\"from\": \"python\"", "\"from\": \"dice\"")
                .find("'from': 'dice' is no source of random numbers"),
            std::string::npos);
  const std::string either = "a random number: expected either 'bytes' or 'own'";
  EXPECT_NE(errors("\"own\": 16, ", "").find(either), std::string::npos);
  EXPECT_NE(errors("\"own\": 16", "\"own\": 16, \"bytes\": \"AP8=\"").find(either),
            std::string::npos);
  EXPECT_NE(
      errors("\"own\": 16", "\"own\": 4097").find("'own': expected a whole number from 1 to 4096"),
      std::string::npos);
  EXPECT_NE(errors("AP8=", "no base64").find(size), std::string::npos);
  EXPECT_NE(errors("AP8=", "").find(size), std::string::npos);
  EXPECT_NE(errors("AP8=", to_base64(std::string(4097, 'x'))).find(size), std::string::npos);
  EXPECT_EQ(errors("AP8=", to_base64(std::string(4096, 'x'))), "");
  EXPECT_NE(errors("\"from\": \"python\"", "\"of\": \"python\"").find("unknown key 'of'"),
            std::string::npos);
}

TEST(CaseFile, TheProcessIsWrittenAndReadInTheSameWay) {
  ProcessRecord of;
  of.service = "orders";
  of.draws = case_with_draws().draws;
  of.calls = order_case().calls;
  of.openings["cache"] = {{json_of_text(R"(["HELLO", "3"])"), json_of_text(R"({"map": []})")}};
  const WrittenFile file = write_process(of);
  const ReadProcess read = read_process(file.text, "cases/process.json", files_of(file));
  EXPECT_TRUE(read.errors.empty());
  EXPECT_TRUE(read.value == of);
  EXPECT_FALSE(read_process(file.text + " ", "x", files_of(file)).errors.empty());
}

// --- any case ---------------------------------------------------------------------------------------

class AnyCase {
 public:
  explicit AnyCase(uint32_t seed) : random_(seed) {}

  Case make() {
    Case out;
    out.service = "orders";
    out.base_us = static_cast<int64_t>(number(4'000'000'000)) * 1'000'000 + number(999'999);
    out.seen = number(9) + 1;
    out.partial = text(true);
    if (number(3) == 0) out.start = {"aa", "bb"};
    out.request = request();
    if (number(2) == 0) out.request.port = "admin";
    for (size_t i = number(4) / 2; i > 0; --i)
      out.draws.push_back({"node", text(false) + "x", number(1) == 0 ? "" : "90d2f31c"});
    for (size_t i = number(6); i > 0; --i) out.calls.push_back(call(out.calls));
    out.answer = answer();
    return out;
  }

 private:
  size_t number(size_t most) { return std::uniform_int_distribution<size_t>(0, most)(random_); }

  std::string text(bool utf8) {
    static constexpr std::string_view kParts[] = {"a", "\"", "\\", "é",  "\n",
                                                  "{", "/",  " ",  "\t", "7"};
    std::string out;
    for (size_t i = number(8); i > 0; --i) out += kParts[number(std::size(kParts) - 1)];
    if (!utf8 && number(2) == 0) out += static_cast<char>(0x80 + number(0x7f));
    if (!utf8 && number(4) == 0) out += '\0';
    return out;
  }

  wire::JsonNode json(size_t depth) {
    const size_t kind = number(depth > 3 ? 1 : 3);
    if (kind == 0) return wire::JsonNode::scalar(*wire::json_token(text(true)));
    if (kind == 1) {
      static constexpr const char* kScalars[] = {"1",    "-0",   "1.50",       "1e9",
                                                 "true", "null", R"("\u00e9")"};
      return wire::JsonNode::scalar(kScalars[number(std::size(kScalars) - 1)]);
    }
    wire::JsonNode out = kind == 2 ? wire::JsonNode::object() : wire::JsonNode::array();
    for (size_t i = number(4); i > 0; --i) {
      wire::JsonNode child = json(depth + 1);
      if (kind == 2) child.key = *wire::json_token(text(true));
      out.add(std::move(child));
    }
    return out;
  }

  std::string body() {
    const size_t kind = number(5);
    if (kind == 0) return "";
    if (kind == 1) return text(false);
    if (kind == 2) return std::string(kMostInline + number(2) - 1, 'x');
    return wire::print_json(
        json(0), wire::JsonStyle{static_cast<wire::JsonSpace>(number(3)), number(1) == 0});
  }

  Headers headers() {
    Headers out;
    for (size_t i = number(3); i > 0; --i)
      out.emplace_back("X-" + std::to_string(number(9)), number(2) == 0 ? "\xe9" : "a, \"b\"");
    return out;
  }

  Request request() {
    static constexpr const char* kTargets[] = {"/", "/a/7?b=c", "/caf\xe9", "*", "http://x/y"};
    return {number(1) == 0 ? "GET" : "POST", kTargets[number(4)], headers(), body(), ""};
  }

  void end(Answer* out) {
    out->silence = number(1) == 0;
    if (!out->silence) out->ends = number(1) == 0 ? Ends::kReset : Ends::kClosed;
  }

  Answer answer() {
    Answer out;
    if (number(4) == 0) {
      end(&out);
      return out;
    }
    out.status = static_cast<uint16_t>(200 + number(399));
    out.headers = headers();
    out.body = body();
    out.trailers = headers();
    if (out.body.size() > 2 && number(1) == 0)
      out.pieces = {{2, 0}, {out.body.size() - 2, 10 + number(99)}};
    return out;
  }

  nlohmann::json value(size_t depth) {
    switch (number(depth > 3 ? 4 : 7)) {
      case 0:
        return nullptr;
      case 1:
        return static_cast<int64_t>(number(1000)) - 500;
      case 2:
        return {{"status", "OK"}};
      case 3:
      case 4:
        return wire::text_or_bytes(text(false));
      case 5:
        return {{"double", "1.50"}};
      case 6: {
        nlohmann::json set = nlohmann::json::array();
        set.push_back(value(depth + 1));
        return {{"set", set}};
      }
      default: {
        nlohmann::json out = nlohmann::json::array();
        for (size_t i = number(3); i > 0; --i) out.push_back(value(depth + 1));
        return out;
      }
    }
  }

  Call call(const std::vector<Call>& before) {
    Call out;
    out.input.to = number(1) == 0 ? "cache" : "pricing";
    out.site = number(2) == 0 ? "" : "0123abcd";
    out.cause_known = number(5) != 0;
    for (size_t i = 0; i < before.size(); ++i) {
      if (number(2) == 0) out.after.push_back(i);
    }
    if (number(1) == 0) {
      out.input.http = request();
      out.answer = answer();
      return out;
    }
    out.input.kind = Kind::kRedis;
    out.input.command =
        nlohmann::json::array({"MULTI", {"SET", "a", wire::text_or_bytes(text(false))}});
    if (number(3) == 0) {
      end(&out.answer);
    } else {
      out.reply = value(0);
    }
    for (size_t i = 0; i < before.size(); ++i) {
      if (!before[i].attempt_of && before[i].input.to == out.input.to &&
          before[i].input.kind == out.input.kind && number(1) == 0)
        out.attempt_of = i;
    }
    return out;
  }

  std::mt19937 random_;
};

TEST(CaseFile, AnyCaseComesBackAndHasTheSameBytes) {
  for (uint32_t seed = 0; seed < 400; ++seed) {
    const Case of = AnyCase(seed).make();
    const WrittenFile file = write_case(of, "9a1c");
    EXPECT_EQ(file.text, write_case(AnyCase(seed).make(), "9a1c").text);
    const ReadCase read = read_back(file);
    ASSERT_TRUE(read.errors.empty()) << seed << ": " << read.errors[0].message;
    ASSERT_TRUE(read.value == of) << seed << "\n" << file.text.substr(0, 4000);
    for (size_t at = 0; (at = file.text.find('\n', at)) != std::string::npos; ++at)
      ASSERT_NE(file.text[at - 1], ' ') << seed;
  }
}

TEST(FileText, TimesComeBack) {
  for (const int64_t time :
       {int64_t{0}, int64_t{951'868'800'000'000}, int64_t{1'796'030'047'123'456}})
    EXPECT_EQ(parse_time_text(time_text(time)), time);
  EXPECT_EQ(time_text(951'868'799'999'999), "2000-02-29T23:59:59.999999Z");
  for (const std::string_view wrong :
       {"", "2026-11-30", "2026-11-30T09:14:07Z", "2026-13-30T09:14:07.123456Z",
        "2026-02-29T09:14:07.123456Z", "2026-11-30T24:14:07.123456Z",
        "1969-11-30T09:14:07.123456Z"})
    EXPECT_FALSE(parse_time_text(wrong)) << wrong;
}

}  // namespace
}  // namespace filibuster::cases
