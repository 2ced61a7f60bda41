// The mobile client: GET /netflix/homepage/users/USER, as the API gateway has it. Whatever is wrong
// there is 'unavailable' here, but that there is no such user.
#include "http.h"

int main(int argc, char** argv) {
  // Longer than the gateway needs when everybody it asks is silent.
  constexpr std::chrono::milliseconds kTimeout{5500};
  const std::string gateway = netflix::environment("API_GATEWAY_URL");
  return netflix::serve(argc, argv, [&](const std::string& path) -> netflix::Answer {
    const std::string prefix = "/netflix/";
    if (path.compare(0, prefix.size(), prefix) != 0) return {404, "{}"};
    const auto answer = netflix::get(gateway, path.substr(prefix.size() - 1), kTimeout);
    if (answer && (answer->status == 200 || answer->status == 404)) return *answer;
    return {503, R"({"error":"Netflix is unavailable"})"};
  });
}
