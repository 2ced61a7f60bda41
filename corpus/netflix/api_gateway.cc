// API gateway: GET /homepage/users/USER. Reads where the others are from <NAME>_URL.
#include <cctype>

#include "homepage.h"

namespace netflix {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kTimeout{500};
// User Profile tells Telemetry before it answers, and waits for it.
constexpr milliseconds kProfileTimeout{1000};

std::string url_of(std::string service) {
  for (char& c : service) c = c == '-' ? '_' : static_cast<char>(std::toupper(c));
  return environment((service + "_URL").c_str());
}

std::optional<Answer> ask(const std::string& service, const std::string& path,
                          const std::optional<std::string>& body) {
  const milliseconds timeout = service == "user-profile" ? kProfileTimeout : kTimeout;
  return body ? post(url_of(service), path, *body, timeout) : get(url_of(service), path, timeout);
}

}  // namespace
}  // namespace netflix

int main(int argc, char** argv) {
  const std::string bugs = netflix::environment("NETFLIX_BUGS");
  const netflix::Bugs on{bugs.find('2') != std::string::npos, bugs.find('3') != std::string::npos};
  return netflix::serve(argc, argv, [&](const std::string& path) -> netflix::Answer {
    const std::string prefix = "/homepage/users/";
    if (path.compare(0, prefix.size(), prefix) != 0) return {404, "{}"};
    return netflix::Homepage(path.substr(prefix.size()), netflix::ask, on).make();
  });
}
