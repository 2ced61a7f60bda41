// Both directions of a TLS connection that nobody decrypts, in pieces: what is read of them may not depend on the pieces.
// The input: a byte that says how long pieces are, then the server's bytes, whose length two bytes tell, then the client's.
#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/tls/record_reader.h"

using namespace filibuster;
using Stop = tls::RecordReader::Stop;

namespace {

struct Seen {
  std::vector<uint32_t> records;  // type and length
  bool garbled = false;
  bool hello = false;
  tls::ServerChoice choice;
  bool operator==(const Seen& other) const {
    return records == other.records && garbled == other.garbled && hello == other.hello &&
           choice.is_tls13 == other.choice.is_tls13 &&
           choice.cipher_suite == other.choice.cipher_suite;
  }
};

Seen read(std::string_view bytes, size_t piece) {
  Seen seen;
  tls::RecordReader reader;
  while (!bytes.empty()) {
    std::string_view part = bytes.substr(0, piece);
    bytes.remove_prefix(part.size());
    for (;;) {
      const size_t before = part.size();
      const Stop stop = reader.feed(&part);
      if (part.size() > before) __builtin_trap();
      if (stop == Stop::kGarbled) {
        seen.garbled = true;
        return seen;
      }
      if (stop == Stop::kEnd) {
        if (!part.empty()) __builtin_trap();
        break;
      }
      if (stop == Stop::kRecord)
        seen.records.push_back(static_cast<uint32_t>(reader.record().type) << 16 |
                               reader.record().length);
      if (stop == Stop::kBody && !seen.hello)
        seen.hello = tls::read_server_hello(reader.body(), &seen.choice);
    }
  }
  return seen;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 3) return 0;
  const size_t piece = data[0] % 64 + 1u;
  const std::string_view all(reinterpret_cast<const char*>(data) + 3, size - 3);
  const size_t length = std::min<size_t>(all.size(), data[1] << 8 | data[2]);
  const std::string_view server = all.substr(0, length), client = all.substr(length);
  const Seen answers = read(server, piece), requests = read(client, piece);
  if (!(answers == read(server, server.size() + 1)) ||
      !(requests == read(client, client.size() + 1)))
    __builtin_trap();
  tls::ClientTurns turns;
  if (answers.hello) turns.choose(answers.choice);
  for (const uint32_t one : requests.records) {
    const tls::Record record{static_cast<tls::ContentType>(one >> 16), static_cast<uint16_t>(one)};
    const bool says = turns.says_something(record);
    if (says && record.type != tls::ContentType::kApplicationData) __builtin_trap();
  }
  return 0;
}
