#include "core/tls/prelude.h"

#include <charconv>
#include <cstddef>

namespace filibuster::tls {
namespace {

constexpr std::string_view kConnect = "CONNECT ";
// Its length, and 1234 and 5679 in place of a version.
constexpr std::string_view kSslRequest("\0\0\0\x08\x04\xd2\x16\x2f", 8);

}  // namespace

Prelude sniff_prelude(std::string_view first) {
  const auto begins = [&](std::string_view what) {
    return first.substr(0, what.size()) == what.substr(0, first.size());
  };
  if (begins(kConnect))
    return first.size() < kConnect.size() ? Prelude::kNeedMore : Prelude::kConnect;
  if (!begins(kSslRequest)) return Prelude::kNone;
  return first.size() < kSslRequest.size() ? Prelude::kNeedMore : Prelude::kPostgres;
}

Authority connect_authority(std::string_view first) {
  if (first.substr(0, kConnect.size()) != kConnect) return {};
  std::string_view target = first.substr(kConnect.size());
  const size_t end = target.find_first_of(" \r\n");
  if (end == std::string_view::npos || target[end] != ' ') return {};
  target = target.substr(0, end);
  const size_t colon = target.rfind(':');
  if (colon == std::string_view::npos) return {};
  Authority out;
  const std::string_view digits = target.substr(colon + 1);
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), out.port);
  if (read.ec != std::errc() || read.ptr != digits.data() + digits.size()) return {};
  out.host = target.substr(0, colon);
  if (out.host.size() > 2 && out.host.front() == '[' && out.host.back() == ']')
    out.host = out.host.substr(1, out.host.size() - 2);
  return out;
}

}  // namespace filibuster::tls
