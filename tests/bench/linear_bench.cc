// linear_bench etcd|kv|kv-one-object FILE...
// Checks files as tests/bench/porcupine/main.go does, in one process: etcd are logs of Jepsen on a register with compare-and-set, kv are
// values by key, each key alone or all as one object. Prints {"linearisable": N, "not": N, "read_ms": MS, "check_ms": MS, "kib": N}.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include "daemon/property/history.h"
#include "daemon/property/linearisability.h"

namespace {

using namespace filibuster;
using namespace filibuster::property;
using Clock = std::chrono::steady_clock;

double milliseconds(Clock::duration time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

// The most that this program had, without what its parent had before it. In KiB.
long most_memory() {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("VmHWM:")) return std::strtol(line.c_str() + 6, nullptr, 10);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fputs("linear_bench etcd|kv|kv-one-object FILE...\n", stderr);
    return 2;
  }
  const std::string what = argv[1];
  const ObjectMaker make = [&] { return make_object(what == "etcd" ? "cas-register" : "kv", {}); };
  CheckOptions options;
  options.threads = std::max(1u, std::thread::hardware_concurrency());
  options.partition = what != "kv-one-object";
  Clock::duration reading{}, checking{};
  int linearisable = 0, no = 0;
  for (int i = 2; i < argc; ++i) {
    const auto begun = Clock::now();
    std::ifstream file(argv[i], std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const auto history = read_history(text);
    const auto middle = Clock::now();
    if (!history) {
      std::fprintf(stderr, "%s:%s\n", argv[i], history.error().message.c_str());
      return 2;
    }
    const auto checked = check_history(history.value(), make, options);
    checking += Clock::now() - middle;
    reading += middle - begun;
    if (!checked || checked->verdict == linear::Verdict::kUnknown) {
      const std::string& why = checked ? checked->why : checked.error().message;
      std::fprintf(stderr, "%s: %s\n", argv[i], why.c_str());
      return 2;
    }
    ++(checked->verdict == linear::Verdict::kLinearisable ? linearisable : no);
  }
  std::printf(
      "{\"linearisable\": %d, \"not\": %d, \"read_ms\": %.3f, \"check_ms\": %.3f, \"kib\": %ld}\n",
      linearisable, no, milliseconds(reading), milliseconds(checking), most_memory());
  return 0;
}
