#include "daemon/suite/advice.h"

namespace filibuster::suite {

std::string advice(std::string_view runner, std::string_view said) {
  if (runner == "junit" && said.find("package org.junit.") != said.npos) {
    return "'program' must have JUnit and the tests on its class path: \"program\": \"java -cp "
           "junit-platform-console-standalone.jar:classes\"";
  }
  return "";
}

}  // namespace filibuster::suite
