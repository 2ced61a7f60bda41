// The services that have something to show: Bookmarks, My List, User Recommendations, Ratings (GET
// /users/USER), Trending and Global Recommendations (GET /, the same for all). The second argument
// says which of them this is.
#include <iostream>
#include <map>

#include "http.h"

namespace {

struct Content {
  std::string path;
  std::string json;
};

const std::map<std::string, Content> kServices = {
    {"bookmarks", {"/users/chris_rivers", R"([{"title":"Dark","at":"00:41:00"}])"}},
    {"my-list", {"/users/chris_rivers", R"(["Borgen","Kingdom"])"}},
    {"user-recommendations", {"/users/chris_rivers", R"(["1899"])"}},
    {"ratings", {"/users/chris_rivers", R"([{"title":"Dark","stars":5}])"}},
    {"trending", {"/", R"(["Lupin"])"}},
    {"global-recommendations", {"/", R"(["Roma"])"}},
};

}  // namespace

int main(int argc, char** argv) {
  const auto service = kServices.find(argc == 3 ? argv[2] : "");
  if (service == kServices.end()) {
    std::cerr << "usage: " << argv[0] << " PORT SERVICE, where SERVICE is one of";
    for (const auto& [name, content] : kServices) std::cerr << ' ' << name;
    std::cerr << '\n';
    return 2;
  }
  const Content& content = service->second;
  return netflix::serve(argc, argv, [&](const std::string& path) -> netflix::Answer {
    if (path == content.path) return {200, content.json};
    return {404, R"({"error":"no such user"})"};
  });
}
