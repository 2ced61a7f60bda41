#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "cli/analysis/documents.h"

namespace filibuster::analysis {
namespace {

Error error_at(const std::string& file, int line, int column, const std::string& message) {
  return Error{file + ":" + std::to_string(line) + ":" + std::to_string(column) + ": " + message};
}
Error error_at(const std::string& file, const YAML::Mark& mark, const std::string& message) {
  // An unknown place is shown as the file's beginning.
  return error_at(file, std::max(mark.line, 0) + 1, std::max(mark.column, 0) + 1, message);
}

// Line and column of a byte, from 1; the column counts characters.
std::pair<int, int> position(std::string_view text, size_t offset) {
  int line = 1, column = 1;
  for (size_t i = 0; i < std::min(offset, text.size()); ++i) {
    if (text[i] == '\n') {
      ++line;
      column = 1;
    } else if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) {
      ++column;
    }
  }
  return {line, column};
}

// The YAML parser reads JSON, too, but says little about where JSON is broken.
Result<void> check_json(const std::string& file, const std::string& text) {
  try {
    const nlohmann::json parsed = nlohmann::json::parse(text);
    (void)parsed;
  } catch (const nlohmann::json::parse_error& error) {
    const auto [line, column] = position(text, error.byte == 0 ? 0 : error.byte - 1);
    std::string_view what = error.what();
    if (const size_t at = what.find("syntax error"); at != std::string_view::npos)
      what.remove_prefix(at);
    what = what.substr(0, what.find("; last read"));
    return error_at(file, line, column, std::string(what));
  } catch (const nlohmann::json::exception&) {  // which has no place
    return error_at(file, 1, 1, "a number is out of range");
  }
  return {};
}

std::string scalar(const YAML::Node& node) {
  return node.IsDefined() && node.IsScalar() ? node.Scalar() : std::string();
}

// "https://api.example.com/v1/" -> "/v1"; "{scheme}://{host}/x" -> "/x"
std::string base_path(const std::string& url) {
  const size_t scheme = url.find("://");
  const size_t slash = url.find('/', scheme == std::string::npos ? 0 : scheme + 3);
  std::string path = slash == std::string::npos ? "" : url.substr(slash);
  while (path.ends_with('/')) path.pop_back();
  return path;
}

class OpenApi {
 public:
  OpenApi(const std::string& file, const YAML::Node& root) : file_(file), root_(root) {}

  Result<ApiDocument> run() {
    if (!root_.IsMap()) return error_at(file_, root_.Mark(), "expected an OpenAPI document, a map");
    const std::string version = scalar(root_["openapi"]), swagger = scalar(root_["swagger"]);
    if (!version.starts_with("3.") && !swagger.starts_with("2")) {
      return error_at(
          file_, root_.Mark(),
          "expected an OpenAPI document with \"openapi\": \"3.x\" or \"swagger\": \"2.0\"");
    }
    bases(!swagger.empty());
    const YAML::Node paths = root_["paths"];
    if (!paths.IsDefined() || paths.IsNull()) {
      out_.notes.push_back(file_ + " has no 'paths'");
      return std::move(out_);
    }
    if (!paths.IsMap()) return error_at(file_, paths.Mark(), "'paths': expected a map");
    for (const auto& item : paths) {
      const std::string path = scalar(item.first);
      if (path.starts_with("x-")) continue;
      if (!path.starts_with('/'))
        return error_at(file_, item.first.Mark(), "a path: expected one that begins with '/'");
      if (auto read = path_item(path, item.second); !read) return read.error();
    }
    return std::move(out_);
  }

 private:
  void bases(bool swagger) {
    if (swagger) {
      bases_.insert(base_path("x://x" + scalar(root_["basePath"])));
    } else if (const YAML::Node servers = root_["servers"];
               servers.IsDefined() && servers.IsSequence()) {
      for (const YAML::Node& server : servers) {
        if (server.IsMap()) bases_.insert(base_path(scalar(server["url"])));
      }
    }
    if (bases_.empty()) bases_.insert("");
  }

  Result<void> path_item(const std::string& path, const YAML::Node& item) {
    if (item.IsNull()) return {};
    if (!item.IsMap()) return error_at(file_, item.Mark(), "path '" + path + "': expected a map");
    if (item["$ref"].IsDefined()) {
      out_.notes.push_back(file_ + ":" + std::to_string(item["$ref"].Mark().line + 1) +
                           ": a $ref of a path is not followed");
    }
    constexpr std::array<std::string_view, 8> kMethods = {"get",  "put",     "post",  "delete",
                                                          "head", "options", "patch", "trace"};
    for (const auto& operation : item) {
      std::string method = scalar(operation.first);
      if (std::find(kMethods.begin(), kMethods.end(), method) == kMethods.end()) continue;
      for (char& c : method) c = static_cast<char>(c - 'a' + 'A');
      if (!operation.second.IsMap()) {
        return error_at(file_, operation.second.Mark(),
                        "'" + scalar(operation.first) + "' of path '" + path + "': expected a map");
      }
      if (auto read = responses(method, path, operation.second["responses"]); !read) return read;
    }
    return {};
  }

  Result<void> responses(const std::string& method, const std::string& path,
                         const YAML::Node& node) {
    std::vector<Endpoint> endpoints;
    for (const std::string& base : bases_)
      endpoints.push_back({method, path_pattern(base + path), ""});
    out_.endpoints.insert(out_.endpoints.end(), endpoints.begin(), endpoints.end());
    if (!node.IsDefined() || node.IsNull()) return {};
    if (!node.IsMap())
      return error_at(file_, node.Mark(),
                      "'responses' of " + method + " " + path + ": expected a map");
    for (const auto& response : node) {
      const std::string key = scalar(response.first);
      const std::string shown = file_ + ":" + std::to_string(response.first.Mark().line + 1) +
                                ": " + method + " " + path + " answers " + key;
      if (key.starts_with("x-")) continue;
      const bool range = key.size() == 3 && (key.ends_with("XX") || key.ends_with("xx"));
      if (key == "default") {
        add(500, endpoints, shown + " (500 stands for all that it does not name)");
      } else if (range && (key[0] == '4' || key[0] == '5')) {
        add(key[0] == '4' ? 400 : 500, endpoints, shown + " (the first stands for all)");
      } else if (range && key[0] >= '1' && key[0] <= '3') {
        continue;
      } else if (key.size() == 3 && key[0] >= '1' && key[0] <= '5' &&
                 key.find_first_not_of("0123456789") == std::string::npos) {
        add(static_cast<uint16_t>(std::stoi(key)), endpoints, shown + description(response.second));
      } else {
        return error_at(file_, response.first.Mark(),
                        "a response of " + method + " " + path +
                            ": expected a status, '4XX', '5XX' or 'default', found '" + key + "'");
      }
    }
    return {};
  }

  static std::string description(const YAML::Node& response) {
    if (!response.IsMap()) return "";
    std::string text = scalar(response["description"]);
    text = text.substr(0, text.find_first_of("\r\n"));
    constexpr size_t kMost = 80;
    if (text.size() > kMost) {
      text.resize(kMost);
      while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0x80) != 0)
        text.pop_back();
      text += " ...";
    }
    return text.empty() ? "" : ": " + text;
  }

  void add(uint16_t status, const std::vector<Endpoint>& endpoints, std::string text) {
    const Answer answer{false, status};
    if (!is_error(answer)) return;
    Evidence one{answer, endpoints, std::move(text)};
    // A path that matches everything does not tell requests apart.
    if (std::any_of(endpoints.begin(), endpoints.end(), [](const Endpoint& e) { return e.any(); }))
      one.endpoints.clear();
    out_.evidence.push_back(std::move(one));
  }

  const std::string& file_;
  const YAML::Node& root_;
  std::set<std::string> bases_;
  ApiDocument out_;
};

}  // namespace

Result<ApiDocument> read_openapi(const std::string& file, const std::string& text) {
  if (file.ends_with(".json")) {
    if (auto checked = check_json(file, text); !checked) return checked.error();
  }
  try {
    const YAML::Node root = YAML::Load(text);
    return OpenApi(file, root).run();
  } catch (const YAML::Exception& error) {
    return error_at(file, error.mark, "not valid YAML: " + error.msg);
  }
}

}  // namespace filibuster::analysis
