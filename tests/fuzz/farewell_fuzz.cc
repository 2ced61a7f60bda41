// What a client and a server say on a connection that is to end politely: whatever they say, the server's bytes reach
// the client, with nothing between them but a field or a GOAWAY.
#include <cstdlib>
#include <string>

#include "daemon/proxy/farewell.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using filibuster::proxy::Farewell;
  constexpr std::string_view kClose = "Connection: close\r\n";
  constexpr std::string_view kGoaway("\0\0\x08\x07\0\0\0\0\0\x7f\xff\xff\xff\0\0\0\0", 17);
  if (size < 2) return 0;
  std::string_view input(reinterpret_cast<const char*>(data), size);
  // Where the client's bytes end, and how long pieces are.
  const size_t first = std::min<size_t>(input.size() - 2, static_cast<uint8_t>(input[0]) * 4);
  const size_t piece = 1 + static_cast<uint8_t>(input[1]) % 64;
  const std::string_view client = input.substr(2, first);
  const std::string_view server = input.substr(2 + first);
  Farewell farewell;
  std::string got, edited;
  size_t insertions = 0;
  farewell.requests(client);
  for (size_t at = 0; at < server.size(); at += piece) {
    if (at >= server.size() / 3) {
      const std::string_view words = farewell.begin();
      if (!words.empty() && words != kGoaway) std::abort();
      insertions += words.empty() ? 0 : 1;
    }
    const std::string_view bytes = server.substr(at, piece);
    const std::string_view given = farewell.answers(bytes, &edited);
    if (given.size() == bytes.size()) {
      if (given != bytes) std::abort();
      continue;
    }
    ++insertions;
    const std::string_view inserted =
        given.size() - bytes.size() == kClose.size() ? kClose : kGoaway;
    const size_t place = given.find(inserted);
    bool found = false;
    for (size_t p = place; p != std::string_view::npos && !found; p = given.find(inserted, p + 1)) {
      found =
          std::string(given.substr(0, p)) + std::string(given.substr(p + inserted.size())) == bytes;
    }
    if (!found) std::abort();
  }
  if (insertions > 1) std::abort();
  return 0;
}
