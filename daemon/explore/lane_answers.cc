#include "daemon/explore/lane_answers.h"

#include "core/hash.h"

namespace filibuster {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

}  // namespace

LaneAnswers::LaneAnswers(const PortMap& lane, const PortMap& first) {
  for (const auto& [name, port] : lane) {
    const auto there = first.find(name);
    if (there != first.end() && there->second != port)
      ports_.emplace(std::to_string(port), std::to_string(there->second));
  }
}

std::string LaneAnswers::translated(const std::string& text) const {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    if (!is_digit(text[at])) {
      out += text[at++];
      continue;
    }
    size_t end = at;
    while (end < text.size() && is_digit(text[end])) ++end;
    const std::string number = text.substr(at, end - at);
    const auto known = ports_.find(number);
    out += known == ports_.end() ? number : known->second;
    at = end;
  }
  return out;
}

// False: not all of the answer was seen.
bool LaneAnswers::translate(RpcRecord* rpc) const {
  if (rpc->response_size == 0) return true;
  // Of a call of gRPC or an encoded body the sample is another form.
  const bool whole = rpc->response_size == rpc->response_sample.size() &&
                     hash_text(rpc->response_sample) == rpc->response;
  if (!whole) return false;
  std::string text = translated(rpc->response_sample);
  if (text == rpc->response_sample) return true;
  rpc->response = hash_text(text);
  rpc->response_size = text.size();
  rpc->response_sample = std::move(text);
  return true;
}

}  // namespace filibuster
