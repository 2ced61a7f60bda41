#include "daemon/record/environment.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>

namespace filibuster::record {
namespace {

// A variable of this process, as long as the test runs.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    if (value == nullptr) {
      unsetenv(name);
    } else {
      setenv(name, value, 1);
    }
  }
  ~Variable() {
    if (before_) {
      setenv(name_, before_->c_str(), 1);
    } else {
      unsetenv(name_);
    }
  }
  Variable(const Variable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

ServiceConfig with(std::map<std::string, std::string> env) {
  ServiceConfig out;
  out.env = std::move(env);
  return out;
}

TEST(RecordedEnvironment, IsThatOfTheConfigurationOrElseOfTheDaemon) {
  const Variable zone("TZ", "Asia/Tokyo"), seed("PYTHONHASHSEED", nullptr);
  using Variables = std::map<std::string, std::string>;
  EXPECT_EQ(recorded_environment(with({{"OTHER", "1"}})), (Variables{{"TZ", "Asia/Tokyo"}}));
  EXPECT_EQ(recorded_environment(with({{"TZ", "UTC"}, {"PYTHONHASHSEED", "7"}})),
            (Variables{{"PYTHONHASHSEED", "7"}, {"TZ", "UTC"}}));
}

TEST(RecordedEnvironment, IsGivenBackButForWhatTheConfigurationSays) {
  const Variable zone("TZ", "Asia/Tokyo");
  ServiceConfig service = with({});
  restore_environment({{"PYTHONHASHSEED", "7"}, {"TZ", "Europe/Berlin"}}, &service);
  EXPECT_EQ(service.env.at("TZ"), "Europe/Berlin");
  EXPECT_EQ(service.env.at("PYTHONHASHSEED"), "7");

  ServiceConfig of_its_own = with({{"TZ", "UTC"}});
  restore_environment({{"TZ", "Europe/Berlin"}}, &of_its_own);
  EXPECT_EQ(of_its_own.env.at("TZ"), "UTC");

  // The zone is that of the daemon anyway, so nothing is set.
  ServiceConfig same = with({});
  restore_environment({{"TZ", "Asia/Tokyo"}}, &same);
  EXPECT_TRUE(same.env.empty());
}

}  // namespace
}  // namespace filibuster::record
