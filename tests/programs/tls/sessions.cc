// sessions PORT FAULT FILE...: runs the sequences of the files (session_model.h). FAULT: none, answer, reset, silence.
// sessions PORT FAULT seed NUMBER COUNT: random sequences instead.
// Prints how many requests met the fault. What is wrong aborts it.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

#include "tests/programs/tls/session_model.h"

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  const int port = std::atoi(argv[1]);
  auto fault = sessions::Fault::kNone;
  if (std::strcmp(argv[2], "answer") == 0) fault = sessions::Fault::kAnswer;
  if (std::strcmp(argv[2], "reset") == 0) fault = sessions::Fault::kReset;
  if (std::strcmp(argv[2], "silence") == 0) fault = sessions::Fault::kSilence;
  int met = 0;
  if (argc == 6 && std::strcmp(argv[3], "seed") == 0) {
    std::mt19937 random(static_cast<unsigned>(std::atoi(argv[4])));
    for (int n = 0; n < std::atoi(argv[5]); ++n) {
      std::vector<uint8_t> bytes(2 + 2 * (random() % 60));
      for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
      std::fprintf(stderr, "sequence %d:", n);
      for (uint8_t byte : bytes) std::fprintf(stderr, " %u", byte);
      std::fprintf(stderr, "\n");
      met += sessions::run(bytes.data(), bytes.size(), port, fault) ? 1 : 0;
    }
  } else {
    for (int i = 3; i < argc; ++i) {
      std::ifstream file(argv[i], std::ios::binary);
      const std::vector<char> bytes{std::istreambuf_iterator<char>(file),
                                    std::istreambuf_iterator<char>()};
      std::fprintf(stderr, "%s\n", argv[i]);
      met +=
          sessions::run(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size(), port, fault)
              ? 1
              : 0;
    }
  }
  std::printf("%d\n", met);
  return 0;
}
