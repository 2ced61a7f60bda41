// How the API gateway makes a homepage out of what other services know. Free of HTTP, so that it
// can be tested.
#pragma once

#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "http.h"

namespace netflix {

// The bugs that NETFLIX_BUGS switches on (a text with their numbers).
struct Bugs {
  bool same_server = false;  // 2: the fallback of My List is My List
  bool no_fallback = false;  // 3: without User Profile there is no page
};

class Homepage {
 public:
  // Asks `service` for `path`; a POST if there is a body. Nothing: no answer came.
  using Ask = std::function<std::optional<Answer>(
      const std::string& service, const std::string& path, const std::optional<std::string>& body)>;

  Homepage(std::string user, Ask ask, Bugs bugs)
      : user_(std::move(user)), ask_(std::move(ask)), bugs_(bugs) {}

  Answer make() {
    const std::string own = "/users/" + user_;
    if (std::optional<Answer> end = add_profile()) return *end;
    if (!add("bookmarks", ask("bookmarks", own))) {
      // What the user was watching is not known. Telemetry is told; all see what is trending.
      ask_("telemetry", "/events", R"({"event":"no bookmarks"})");
      if (std::optional<Answer> end = add_trending()) return *end;
    }
    if (std::optional<Answer> end = add_my_list()) return *end;
    if (!add("recommendations", ask("user-recommendations", own)) &&
        !add("recommendations", ask("global-recommendations", "/"))) {
      if (std::optional<Answer> end = add_trending()) return *end;
    }
    if (std::optional<Answer> end = add_required("ratings", ask("ratings", own))) return *end;
    return {200, page_.dump()};
  }

 private:
  std::optional<Answer> ask(const std::string& service, const std::string& path) {
    return ask_(service, path, std::nullopt);
  }

  // False: `answer` has nothing to show.
  bool add(const std::string& part, const std::optional<Answer>& answer) {
    if (!answer || answer->status != 200) return false;
    nlohmann::json content =
        nlohmann::json::parse(answer->body, nullptr, /*allow_exceptions=*/false);
    if (content.is_discarded()) return false;
    page_[part] = std::move(content);
    return true;
  }

  // The answer that ends the request if there is no such part; and so in what follows.
  std::optional<Answer> add_required(const std::string& part, const std::optional<Answer>& answer) {
    if (add(part, answer)) return std::nullopt;
    if (!answer) return Answer{503, nlohmann::json{{"error", part + " is unavailable"}}.dump()};
    if (answer->status == 404) return Answer{404, R"({"error":"no such user"})"};
    return Answer{500, nlohmann::json{{"error", part + " failed"}}.dump()};
  }

  std::optional<Answer> add_profile() {
    std::optional<Answer> end =
        add_required("user-profile", ask("user-profile", "/users/" + user_));
    if (!end || end->status == 404 || bugs_.no_fallback) return end;
    // Who they are is not known: the page of somebody who has not signed in.
    return Answer{200, R"({"signed-in":false,"content":["Our most popular series"]})"};
  }

  // At most once: what is trending may be wanted in two places.
  std::optional<Answer> add_trending() {
    if (page_.contains("trending")) return std::nullopt;
    return add_required("trending", ask("trending", "/"));
  }

  std::optional<Answer> add_my_list() {
    std::optional<Answer> answer = ask("my-list", "/users/" + user_);
    if (!answer && bugs_.same_server) answer = ask("my-list", "/users/" + user_);
    return add_required("my-list", answer);
  }

  std::string user_;
  Ask ask_;
  Bugs bugs_;
  nlohmann::json page_ = nlohmann::json::object();
};

}  // namespace netflix
