#include "core/http1/parser_memory.h"

#include "core/text/ascii.h"

namespace filibuster::http1 {

std::string_view trim_end(std::string_view text) {
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

void RequestTexts::clear() {
  request_id_row = kNoRequestId;
  request_id.clear();
  told.clear();
  name.clear();
  expect.clear();
  upgrade.clear();
  http2_settings.clear();
  filibuster.clear();
  host.clear();
  target.clear();
}

std::string_view RequestTexts::host_name() const {
  std::string_view text = trim_end(host.view());
  if (!text.empty() && text.front() == '[') {
    const size_t bracket = text.find(']');
    if (bracket != std::string_view::npos) text = text.substr(0, bracket + 1);
  } else {
    text = text.substr(0, text.find(':'));
  }
  return text.substr(0, kMaxHost);
}

bool RequestTexts::ask_for_h2c() const {
  if (http2_settings.size == 0 || http2_settings.truncated || upgrade.truncated) return false;
  std::string_view rest = upgrade.view();
  while (!rest.empty()) {
    const size_t comma = rest.find(',');
    std::string_view token = trim_end(rest.substr(0, comma));
    while (!token.empty() && (token.front() == ' ' || token.front() == '\t')) {
      token.remove_prefix(1);
    }
    if (equal_ignoring_case(token, "h2c")) return true;
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  return false;
}

bool Outstanding::add(Expected expected) {
  if (count_ == kMaxOutstanding) return false;
  const uint32_t slot = (first_ + count_) % kMaxOutstanding;
  const uint32_t shift = slot % 4 * 2;
  const uint32_t others = ring_[slot / 4] & ~(3u << shift);
  ring_[slot / 4] = static_cast<uint8_t>(others | static_cast<uint32_t>(expected) << shift);
  ++count_;
  return true;
}

Outstanding::Expected Outstanding::take() {
  if (count_ == 0) return Expected::kOrdinary;
  const uint32_t slot = first_;
  first_ = (first_ + 1) % kMaxOutstanding;
  --count_;
  return static_cast<Expected>(ring_[slot / 4] >> (slot % 4 * 2) & 3u);
}

}  // namespace filibuster::http1
