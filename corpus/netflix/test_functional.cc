// A user opens the homepage. It shows what could be had and stand-ins for the rest; only without My
// List, Ratings or Trending (when that must stand in) is the user told that Netflix is unavailable.
#include <httplib.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "http.h"

namespace {

using netflix::Answer;
using nlohmann::json;

// The faults that were injected in the running execution, asked for once: the test takes a few
// milliseconds, and looks at them a dozen times.
json injected_faults() {
  const std::string url = netflix::environment("FILIBUSTER_URL");
  if (url.empty()) return json::array();  // without Filibuster nothing is ever injected
  httplib::Client daemon(url);
  daemon.set_bearer_token_auth(netflix::environment("FILIBUSTER_TOKEN").c_str());
  const auto result = daemon.Get("/v1/fault-injected");
  // A guess would make the verdict worthless.
  if (!result || result->status != 200) {
    std::cerr << "filibuster's daemon did not answer\n";
    std::exit(3);
  }
  return json::parse(result->body)["faults"];
}

// The predicate: was one injected into an RPC to `service`, and is it `fault` ("" is any)?
bool was_fault_injected(const std::string& service, const std::string& fault = "") {
  static const json faults = injected_faults();
  return std::any_of(faults.begin(), faults.end(), [&](const json& row) {
    return row["service"] == service && (fault.empty() || row["fault"] == fault);
  });
}

void expect(bool holds, const std::string& what, const Answer& answer) {
  if (holds) return;
  std::cerr << "expected " << what << ", got " << answer.status << ' ' << answer.body << '\n';
  std::exit(1);
}

// The status when `service`, without which there is no page, failed.
int status_without(const std::string& service) {
  return was_fault_injected(service, "status:404") ? 404 : 503;
}

void check(const Answer& answer) {
  if (was_fault_injected("api-gateway")) {
    const int status = status_without("api-gateway");
    return expect(answer.status == status, std::to_string(status), answer);
  }
  if (was_fault_injected("user-profile")) {
    if (status_without("user-profile") == 404) return expect(answer.status == 404, "404", answer);
    return expect(answer.status == 200 && json::parse(answer.body)["signed-in"] == false,
                  "the page of somebody who has not signed in", answer);
  }
  // Trending is asked only where it must stand in.
  for (const char* service : {"trending", "my-list", "ratings"}) {
    if (!was_fault_injected(service)) continue;
    const int status = status_without(service);
    return expect(answer.status == status, std::to_string(status), answer);
  }
  expect(answer.status == 200, "200", answer);
  json page = json::parse(answer.body);  // what is looked for and missing is null
  expect(page["user-profile"]["name"] == "Chris Rivers", "the user's profile", answer);
  expect(page["my-list"] == json::array({"Borgen", "Kingdom"}), "the user's list", answer);
  expect(page["ratings"][0]["stars"] == 5, "the user's ratings", answer);

  const bool no_bookmarks = was_fault_injected("bookmarks");
  expect(page.contains("bookmarks") != no_bookmarks, "bookmarks unless they failed", answer);
  const bool no_user = was_fault_injected("user-recommendations");
  const bool no_global = was_fault_injected("global-recommendations");
  if (!no_user) {
    expect(page["recommendations"] == json::array({"1899"}), "the user's recommendations", answer);
  } else if (!no_global) {
    expect(page["recommendations"] == json::array({"Roma"}), "recommendations for all", answer);
  } else {
    expect(!page.contains("recommendations"), "no recommendations", answer);
  }
  expect(page.contains("trending") == (no_bookmarks || (no_user && no_global)),
         "what is trending where it stands in", answer);
}

}  // namespace

int main() {
  const auto answer =
      netflix::get(netflix::environment("MOBILE_CLIENT_URL"),
                   "/netflix/homepage/users/chris_rivers", std::chrono::seconds(30));
  if (!answer) {
    std::cerr << "the mobile client did not answer\n";
    return 1;
  }
  check(*answer);
  return 0;
}
