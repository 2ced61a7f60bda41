#include "cli/daemon_client.h"

#include <httplib.h>

namespace filibuster::cli {
namespace {

void prepare(httplib::Client& client, const std::string& token, int timeout) {
  client.set_bearer_token_auth(token);
  client.set_connection_timeout(timeout);
  client.set_read_timeout(timeout);
  client.set_write_timeout(timeout);
}

Result<Answer> answer(const httplib::Result& result, const std::string& url) {
  if (!result)
    return Error{"no answer from " + url + " (" + httplib::to_string(result.error()) + ")"};
  return Answer{result->status, result->body};
}

}  // namespace

Result<Answer> DaemonClient::get(const std::string& path, int timeout) const {
  httplib::Client client(url_);
  prepare(client, token_, timeout);
  return answer(client.Get(path), url_);
}

Result<Answer> DaemonClient::post(const std::string& path, const std::string& json,
                                  int timeout) const {
  httplib::Client client(url_);
  prepare(client, token_, timeout);
  return answer(client.Post(path, json, "application/json"), url_);
}

std::string query_argument(const char* name, const std::string& value) {
  if (value.empty()) return "";
  // Everything but RFC 3986's unreserved characters is escaped.
  constexpr char kHex[] = "0123456789ABCDEF";
  std::string out = std::string("&") + name + "=";
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    const bool letter = (byte | 0x20) >= 'a' && (byte | 0x20) <= 'z';
    if (letter || (byte >= '0' && byte <= '9') || c == '-' || c == '.' || c == '_' || c == '~') {
      out += c;
    } else {
      out += {'%', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  return out;
}

}  // namespace filibuster::cli
