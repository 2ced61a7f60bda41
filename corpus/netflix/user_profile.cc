// User Profile: GET /users/USER. With NETFLIX_PROFILE_TELEMETRY=1 it tells Telemetry of every
// request, and waits for it, but not for long: who asks for a profile waits a second. That it waits
// longer is bug 1 (NETFLIX_BUGS).
#include "http.h"

int main(int argc, char** argv) {
  using std::chrono::milliseconds;
  const std::string telemetry = netflix::environment("TELEMETRY_URL");
  const bool bug = netflix::environment("NETFLIX_BUGS").find('1') != std::string::npos;
  const bool tells = bug || netflix::environment("NETFLIX_PROFILE_TELEMETRY") == "1";
  const milliseconds timeout{bug ? 3000 : 500};
  return netflix::serve(argc, argv, [&](const std::string& path) -> netflix::Answer {
    if (path != "/users/chris_rivers") return {404, R"({"error":"no such user"})"};
    if (tells) netflix::post(telemetry, "/events", R"({"event":"profile"})", timeout);
    return {200, R"({"id":"chris_rivers","name":"Chris Rivers"})"};
  });
}
