// A functional test: GETs each URL and expects one of the statuses. What tests/integration/apps/probe.py is, where the
// interpreter is not what is tested.
//
// probe [--meet LANES] STATUS[,STATUS...] URL...
//
// --meet LANES: an execution whose requests saw a fault waits until one of each lane has come so far. So each lane runs one.
#include <glob.h>

#include <vector>

#include "tests/programs/asking.h"

namespace {

constexpr int kLimitMs = 60000;

// As Python shows bytes.
std::string shown(const std::string& bytes) {
  const bool apostrophes =
      bytes.find('\'') != std::string::npos && bytes.find('"') == std::string::npos;
  const char quote = apostrophes ? '"' : '\'';
  std::string text = std::string("b") + quote;
  for (const char byte : bytes) {
    char code[8];
    if (byte == quote || byte == '\\') {
      text += '\\';
      text += byte;
    } else if (byte == '\n' || byte == '\r' || byte == '\t') {
      text += byte == '\n' ? "\\n" : byte == '\r' ? "\\r" : "\\t";
    } else if (byte < ' ' || byte == 0x7f) {  // bytes from 0x80 on are below zero
      snprintf(code, sizeof code, "\\x%02x", static_cast<unsigned char>(byte));
      text += code;
    } else {
      text += byte;
    }
  }
  return text + quote;
}

std::string variable(const char* name) {
  const char* value = getenv(name);
  return value != nullptr ? value : "";
}

// What cli/python/filibuster_predicates.py asks.
bool was_fault_injected() {
  const Answer answer = get(variable("FILIBUSTER_URL") + "/v1/fault-injected?", 30000,
                            "Authorization: Bearer " + variable("FILIBUSTER_TOKEN") + "\r\n");
  if (!answer.problem.empty() || answer.status != 200) {
    fprintf(stderr, "filibuster's daemon did not answer: %s %s\n", answer.problem.c_str(),
            answer.body.c_str());
    exit(1);
  }
  const size_t at = answer.body.find("\"injected\"");
  return at != std::string::npos && answer.body.find("true", at) != std::string::npos;
}

size_t met() {
  glob_t found = {};
  glob("met-*", 0, nullptr, &found);
  const size_t count = found.gl_pathc;
  globfree(&found);
  return count;
}

void wait_for_lanes(size_t lanes) {
  const std::string own = "met-" + variable("FILIBUSTER_LANE");
  close(open(own.c_str(), O_WRONLY | O_CREAT, 0644));
  for (int left = 12000; met() < lanes && left > 0; --left) usleep(5000);
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  size_t lanes = 0;
  if (words.size() > 2 && words[0] == "--meet") {
    lanes = strtoul(words[1].c_str(), nullptr, 10);
    words.erase(words.begin(), words.begin() + 2);
  }
  if (words.empty()) {
    fprintf(stderr, "usage: probe [--meet LANES] STATUS[,STATUS...] URL...\n");
    return 2;
  }
  const std::string expected = "," + words[0] + ",";
  std::string failed;
  for (size_t i = 1; i < words.size() && failed.empty(); ++i) {
    const Answer answer = get(words[i], kLimitMs);
    if (!answer.problem.empty()) {
      fflush(stdout);
      fprintf(stderr, "%s: %s\n", words[i].c_str(), answer.problem.c_str());
      return 1;
    }
    printf("%s: %d %s\n", words[i].c_str(), answer.status, shown(answer.body).c_str());
    if (expected.find("," + std::to_string(answer.status) + ",") == std::string::npos) {
      failed = "expected one of [" + words[0] + "], got " + std::to_string(answer.status);
    }
  }
  fflush(stdout);
  if (lanes != 0 && was_fault_injected()) wait_for_lanes(lanes);
  if (!failed.empty()) fprintf(stderr, "%s\n", failed.c_str());
  return failed.empty() ? 0 : 1;
}
