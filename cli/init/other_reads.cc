#include "cli/init/other_reads.h"

#include <algorithm>
#include <cctype>
#include <iterator>

namespace filibuster::init {

bool is_settings_of_spring(std::string_view path) {
  const size_t slash = path.rfind('/');
  const std::string_view name = path.substr(slash == path.npos ? 0 : slash + 1);
  const bool kind =
      name.ends_with(".yml") || name.ends_with(".yaml") || name.ends_with(".properties");
  return kind && (name.starts_with("application") || name.starts_with("bootstrap"));
}

void reads_of_spring(const std::string& path, std::string_view text,
                     std::vector<VariableRead>* out) {
  uint32_t line = 0;
  while (!text.empty()) {
    ++line;
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view row = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const size_t first = row.find_first_not_of(" \t");
    if (first == row.npos || row[first] == '#') continue;
    for (size_t at = row.find("${"); at != row.npos; at = row.find("${", at + 2)) {
      const size_t close = row.find('}', at);
      if (close == row.npos) break;
      const std::string_view inside = row.substr(at + 2, close - at - 2);
      const size_t colon = std::min(inside.find(':'), inside.size());
      VariableRead read{
          std::string(inside.substr(0, colon)), path, line, true, std::nullopt, false};
      if (!is_variable_name(read.name)) continue;
      if (colon < inside.size()) {
        read.needed = false;
        read.otherwise = std::string(inside.substr(colon + 1));
      }
      out->push_back(std::move(read));
    }
  }
}

std::vector<VariableRead> variables_of_command(const std::string& who, std::string_view command) {
  std::vector<VariableRead> out;
  for (size_t at = command.find('$'); at != command.npos; at = command.find('$', at + 1)) {
    const bool braced = command.substr(at + 1).starts_with('{');
    const size_t begin = at + (braced ? 2 : 1);
    size_t end = begin;
    while (end < command.size() &&
           (std::isalnum(static_cast<unsigned char>(command[end])) != 0 || command[end] == '_'))
      ++end;
    VariableRead read{
        std::string(command.substr(begin, end - begin)), who, 0, true, std::nullopt, false};
    const std::string_view rest = command.substr(end);
    const bool otherwise = braced && (rest.starts_with(":-") || rest.starts_with("-"));
    if (otherwise) {
      const size_t from = rest.find('-') + 1;
      read.needed = false;
      read.otherwise = std::string(rest.substr(from, rest.find('}') - from));
    }
    if (is_variable_name(read.name)) out.push_back(std::move(read));
  }
  return out;
}

bool serves_tls(std::string_view text) {
  struct Row {
    std::string_view tls, plain;
  };
  constexpr Row kRows[] = {{"https.createServer(", "http.createServer("},
                           {"createSecureServer(", "http2.createServer("},
                           {"ListenAndServeTLS(", "ListenAndServe("},
                           {"HttpsServer.create(", "HttpServer.create("},
                           {"ssl_keyfile=", ""},
                           {"--ssl-keyfile", ""},
                           {"--certfile", ""}};
  return std::any_of(std::begin(kRows), std::end(kRows), [&](const Row& row) {
    return text.find(row.tls) != text.npos &&
           (row.plain.empty() || text.find(row.plain) == text.npos);
  });
}

}  // namespace filibuster::init
