// Turns the frames that agents send (core/protocol/events.h, RpcIssued::stack_text) into lines for a
// person, with elfutils' libdwfl, from the files on disk; every line is looked up once.
//
//   "F file:line function"          -> "file:line (function)"
//   "N buildid+offset path"         -> "file:line (function)", "library.so+0x1234 (function)" without
//                                      debug information, "library.so+0x1234" without symbols or
//                                      when the file is not the one that ran
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace filibuster {

class Symbolizer {
 public:
  Symbolizer();
  ~Symbolizer();
  // Thread-safe. May read large files the first time: never called with a lock of the hub held.
  std::string line(const std::string& frame);
  void lines(std::vector<std::string>* frames);

 private:
  class Module;
  std::string native(std::string_view frame);

  std::mutex mutex_;
  std::unordered_map<std::string, std::string> cache_;
  std::unordered_map<std::string, std::unique_ptr<Module>> modules_;  // by path
};

}  // namespace filibuster
