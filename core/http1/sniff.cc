#include <cstring>

#include "core/http1/message_parser.h"

namespace filibuster::http1 {
namespace {

#define FILIBUSTER_METHOD(number, name, string) #string " ",
constexpr std::string_view kMethods[] = {HTTP_METHOD_MAP(FILIBUSTER_METHOD)};
#undef FILIBUSTER_METHOD

constexpr std::string_view kHttp2Preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";  // RFC 9113 §3.4

// kPartly: `text` is shorter than `wanted` and agrees so far.
enum class Match : uint8_t { kNo, kPartly, kYes };
Match match(std::string_view text, std::string_view wanted) {
  const size_t size = text.size() < wanted.size() ? text.size() : wanted.size();
  if (text.substr(0, size) != wanted.substr(0, size)) return Match::kNo;
  return size == wanted.size() ? Match::kYes : Match::kPartly;
}

}  // namespace

Sniff sniff(const char* data, size_t size) {
  std::string_view text(data, size);
  if (text.empty()) return Sniff::kNeedMore;
  if (text[0] == '\x16') {  // TLS record: handshake, version 3.0 to 3.4 (RFC 8446 §5.1)
    if (size >= 2 && text[1] != '\x03') return Sniff::kOther;
    if (size < 3) return Sniff::kNeedMore;
    return static_cast<unsigned char>(text[2]) <= 4 ? Sniff::kTls : Sniff::kOther;
  }
  bool partly = false;
  switch (match(text, kHttp2Preface)) {
    case Match::kYes:
      return Sniff::kHttp2Preface;
    case Match::kPartly:
      partly = true;
      break;
    case Match::kNo:
      break;
  }
  // Blank lines before a request are to be ignored (RFC 9112 §2.2).
  while (!text.empty() && (text[0] == '\r' || text[0] == '\n')) text.remove_prefix(1);
  for (std::string_view method : kMethods) {
    switch (match(text, method)) {
      case Match::kYes:
        return Sniff::kHttp1Request;
      case Match::kPartly:
        partly = true;
        break;
      case Match::kNo:
        break;
    }
  }
  return partly ? Sniff::kNeedMore : Sniff::kOther;
}

}  // namespace filibuster::http1
