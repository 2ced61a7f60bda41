// FastCGI from a web server and from a worker: however the bytes are cut, the same requests and ends come out.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/fastcgi/requests.h"

using namespace filibuster;

namespace {

struct Seen final : fastcgi::RequestHandler, fastcgi::AnswerHandler {
  std::vector<std::string> all;
  void on_request(uint16_t id, std::string_view method, std::string_view target,
                  std::string_view field) override {
    all.push_back(std::to_string(id) + std::string(method) + '\0' + std::string(target) + '\0' +
                  std::string(field));
  }
  void on_end(uint16_t id, uint16_t status) override {
    all.push_back(std::to_string(id) + ' ' + std::to_string(status));
  }
};

template <typename Parser>
void check(std::string_view bytes, size_t step) {
  Parser whole, parts;
  Seen of_whole, of_parts;
  const bool good = whole.feed(bytes.data(), bytes.size(), &of_whole);
  bool good_in_parts = true;
  for (size_t at = 0; at < bytes.size() && good_in_parts; at += step) {
    const std::string part(bytes.substr(at, step));  // bounds of its own
    good_in_parts = parts.feed(part.data(), part.size(), &of_parts);
  }
  if (good != good_in_parts || of_whole.all != of_parts.all) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const size_t step = data[0] % 16 + 1;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 2, size - 2);
  if (data[1] % 2 == 0) {
    check<fastcgi::RequestParser>(bytes, step);
  } else {
    check<fastcgi::AnswerParser>(bytes, step);
  }
  for (size_t part = 0; part < bytes.size() && part < 16; ++part) {
    const fastcgi::Sniff early = fastcgi::sniff(bytes.substr(0, part));
    if (early != fastcgi::Sniff::kNeedMore && early != fastcgi::sniff(bytes)) __builtin_trap();
  }
  return 0;
}
