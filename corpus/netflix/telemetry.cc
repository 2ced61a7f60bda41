// Telemetry: POST /events takes note of an event. Keeps none, so that every test finds the same.
#include "http.h"

int main(int argc, char** argv) {
  return netflix::serve(argc, argv, [](const std::string& path) -> netflix::Answer {
    if (path != "/events") return {404, "{}"};
    return {200, "{}"};
  });
}
