#include "cli/init/variables.h"

#include <gtest/gtest.h>

#include "tests/unit/init/drafts.h"

namespace filibuster::init {
namespace {

TEST(Variables, TakeTheirPlacesInEveryForm) {
  Interpolator values(variables({{"A", "a"}, {"EMPTY", ""}, {"_B1", "b"}}));
  const std::vector<std::pair<std::string, std::string>> kForms = {
      {"$A", "a"},
      {"${A}", "a"},
      {"<$A>$_B1.", "<a>b."},
      {"${EMPTY-x}", ""},
      {"${EMPTY:-x}", "x"},
      {"${NONE-x}", "x"},
      {"${NONE:-x}", "x"},
      {"${A:-x}", "a"},
      {"${A+x}", "x"},
      {"${A:+x}", "x"},
      {"${EMPTY+x}", "x"},
      {"${EMPTY:+x}", ""},
      {"${NONE+x}", ""},
      {"${NONE:-${ALSO:-${A}}}/end", "a/end"},
      {"${NONE:-{\"a\": 1}}", "{\"a\": 1}"},
      {"$$A ${A} $$", "$A a $"},
      {"$1 $ ${} ${1} ${A", "$1 $ ${} ${1} ${A"},
      {"cost: 5$", "cost: 5$"}};
  for (const auto& [text, right] : kForms) EXPECT_EQ(values(text), right) << text;
  EXPECT_TRUE(values.unset().empty());
}

TEST(Variables, ThatHaveNoValueAreNamed) {
  Interpolator values(variables({{"EMPTY", ""}}));
  EXPECT_EQ(values("$A-${B}-${C:-c}-${D:?say it}-${EMPTY:?}-${EMPTY}"), "--c---");
  EXPECT_EQ(values.unset(), (std::set<std::string>{"A", "B"}));
  EXPECT_EQ(values.required(),
            (std::map<std::string, std::string>{{"D", "say it"}, {"EMPTY", ""}}));
}

TEST(Variables, ThatHoldEachOtherDoNotGrowWithoutEnd) {
  std::string text = "A0=aaaaaaaaaaaaaaaa\n";
  for (int i = 1; i < 60; ++i) {
    const std::string before = "$A" + std::to_string(i - 1);
    text += "A" + std::to_string(i) + "=" + before + before + "\n";
  }
  std::map<std::string, std::string> out;
  add_variables(text, variables({}), &out);
  size_t longest = 0;
  for (const auto& [name, value] : out) longest = std::max(longest, value.size());
  EXPECT_GT(longest, size_t{1} << 16);
  EXPECT_LT(longest, size_t{1} << 24);
}

TEST(DotEnv, HasQuotesRemarksAndVariablesOfEarlierLines) {
  std::map<std::string, std::string> out;
  add_variables(
      "# a remark\n"
      "SRC=./src\n"
      "PORT = 7070   # a remark\r\n"
      "ADDR=cart:${PORT}\n"
      "export URL=\"http://$ADDR\" # a remark\n"
      "RAW='$ADDR # none'\n"
      "HASH=a#b\n"
      "NONE=#c\n"
      "TEXT=\"one\n"
      "two \\\"$SRC\\\" \\$5\"\n"
      "LATER=${LAST}\n"
      "LAST=x\n"
      "OUTER=$GIVEN\n"
      "no assignment\n"
      "OPEN='a b",
      variables({{"GIVEN", "g"}, {"SRC", "of the environment"}}), &out);
  EXPECT_EQ(out, (std::map<std::string, std::string>{{"SRC", "./src"},
                                                     {"PORT", "7070"},
                                                     {"ADDR", "cart:7070"},
                                                     {"URL", "http://cart:7070"},
                                                     {"RAW", "$ADDR # none"},
                                                     {"HASH", "a#b"},
                                                     {"NONE", ""},
                                                     {"TEXT", "one\ntwo \"of the environment\" $5"},
                                                     {"LATER", ""},
                                                     {"LAST", "x"},
                                                     {"OUTER", "g"},
                                                     {"OPEN", "'a b"}}));
}

TEST(Compose, EveryValueIsInterpolated) {
  const auto json = compose(R"(
services:
  ad:
    build: {context: "${TOP}", dockerfile: "${SRC}/ad/$FILE", args: {MAIN: "${ENTRY}"}}
    ports: ["${AD_PORT}"]
    command: ["--port", "${AD_PORT}", "--price", "5$$"]
    environment: [AD_PORT, "STORE_ADDR=store:${STORE_PORT}", "X=${UNSET-x}", NOWHERE]
    healthcheck: {test: "curl http://localhost:${AD_PORT}/${HEALTH:-health}"}
  store:
    image: ${STORE_IMAGE:?which one}
)",
                            {{".env",
                              "TOP=./\nSRC=./src\nAD_PORT=9555\nSTORE_PORT=6379\nFILE=Dockerfile\n"
                              "STORE_IMAGE=docker.io/valkey/valkey:9\nENTRY=./ad\n"},
                             {"src/ad/Dockerfile", "FROM debian\nENTRYPOINT [\"./ad\"]\n"}});
  const auto& ad = json["services"][0];
  EXPECT_EQ(ad["command"], "exec ./ad --port ${port:ad} --price '5$'");
  EXPECT_EQ(ad["directory"], "src/ad");
  EXPECT_EQ(ad["env"],
            (nlohmann::json{
                {"AD_PORT", "${port:ad}"}, {"STORE_ADDR", "127.0.0.1:${port:store}"}, {"X", "x"}}));
  EXPECT_EQ(ad["ready"]["http"], "/health");
  EXPECT_EQ(json["services"][1]["protocol"], "redis");
}

TEST(Compose, TheEnvironmentComesBeforeDotEnv) {
  const auto json = compose("services:\n  a: {build: ., command: './a ${WHO} ${HOW}'}\n",
                            {{".env", "WHO=file\nHOW=by-$WHO\n"}}, {{"WHO", "shell"}});
  EXPECT_EQ(json["services"][0]["command"], "exec ./a shell by-shell");
}

TEST(Compose, VariablesWithoutAValueAreNamed) {
  const Draft draft = drafted(
      "services:\n  a: {build: ., command: './a $NONE', image: '${TAG:?say which}', ports: [80]}\n");
  const std::string remarks = remarks_of(draft);
  EXPECT_NE(remarks.find("and so empty: 'NONE'"), std::string::npos) << remarks;
  EXPECT_NE(remarks.find("give TAG a value in .env or the environment: say which"),
            std::string::npos)
      << remarks;
}

}  // namespace
}  // namespace filibuster::init
