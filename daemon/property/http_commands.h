// Commands as requests of HTTP, and what their answers mean: of a client that is configured (docs/property.md 'Without code').
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"

namespace filibuster::property {

struct HttpRequest {
  std::string method, path;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
};

class HttpCommand {
 public:
  // `json`: as daemon/config/http_client.cc has checked it. `headers`: of all commands. `reads`: it changes nothing.
  HttpCommand(nlohmann::json json, const nlohmann::json& headers, bool reads);

  // Error: the value has no member of a placeholder's name, or one that cannot stand there.
  Result<HttpRequest> request(const nlohmann::json& value, const std::string& process) const;
  // {"ok": ANSWER}, {"fail": WHY} or {"info": WHY}
  nlohmann::json meaning(int status, const std::string& body) const;
  // Of a request without an answer, or without the whole of one. `sent`: a part of it may have arrived.
  nlohmann::json unanswered(const std::string& why, bool sent) const;

 private:
  nlohmann::json unclear(const std::string& why) const;

  nlohmann::json json_;
  std::vector<std::pair<std::string, std::string>> headers_;
  bool reads_;
};

// Text with the members of `value` in the place of ${NAME}: texts as they are, and other values in JSON. ${value} is all of a value that
// has no member of that name. `encoded`: %XX in the place of what has a meaning in a path.
Result<std::string> filled_text(std::string_view text, const nlohmann::json& value,
                                const std::string& process, bool encoded);
// JSON whose texts are filled. A text that is one placeholder alone becomes the value itself.
Result<nlohmann::json> filled_json(const nlohmann::json& json, const nlohmann::json& value,
                                   const std::string& process);

}  // namespace filibuster::property
