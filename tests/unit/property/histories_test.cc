// The histories of tests/histories with the verdicts that make.py has found by trying all orders.
#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "daemon/property/history.h"
#include "daemon/property/linearisability.h"

namespace filibuster::property {
namespace {

using Json = nlohmann::json;

// A text of the history in the format that it stands in.
std::string text_of(const Json& events) {
  std::string out;
  for (const Json& each : events)
    out += (each.is_string() ? each.get<std::string>() : each.dump()) + "\n";
  return out;
}

std::string verdict_of(const History& history, const std::string& model, const Json& initial,
                       const CheckOptions& options) {
  const auto checked = check_history(
      history, [&] { return make_object(model, initial); }, options);
  if (!checked) return checked.error().message;
  switch (checked->verdict) {
    case linear::Verdict::kLinearisable:
      return "linearisable";
    case linear::Verdict::kNot:
      return "not";
    case linear::Verdict::kUnknown:
      break;
  }
  return checked->why;
}

TEST(KnownHistories, HaveTheirVerdicts) {
  std::map<std::string, int> read;
  for (const std::string_view name : object_names()) {
    const std::string model(name);
    std::ifstream file("tests/histories/" + model + ".jsonl");
    for (std::string line; std::getline(file, line);) {
      const Json row = Json::parse(line);
      const auto history = read_history(text_of(row["history"]));
      ASSERT_TRUE(history) << model << ", " << row["name"] << ": " << history.error().message;
      for (const size_t threads : {1, 2}) {
        for (const bool partition : {true, false}) {
          CheckOptions options;
          options.threads = threads;
          options.partition = partition;
          EXPECT_EQ(verdict_of(history.value(), model, row["initial"], options), row["verdict"])
              << model << ", " << row["name"] << ", " << threads << " threads"
              << (partition ? "" : ", all keys as one object");
        }
      }
      ++read[model + ", " + row["verdict"].get<std::string>()];
      ++read[row["format"].get<std::string>()];
    }
  }
  for (const std::string_view model : object_names()) {
    EXPECT_GE(read[std::string(model) + ", linearisable"], 17);
    EXPECT_GE(read[std::string(model) + ", not"], 17);
  }
  for (const char* format : {"json", "edn", "log"}) EXPECT_GE(read[format], 20) << format;
}

}  // namespace
}  // namespace filibuster::property
