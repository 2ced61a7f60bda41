// API gateway: a hotel with its reviews, from Review ML, else from Review Time, else 503.
#include <httplib.h>

#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "review_service.h"

namespace {

std::optional<nlohmann::json> fetch_reviews(const std::string& url, const std::string& hotel) {
  httplib::Client client(url);
  client.set_connection_timeout(1);
  client.set_read_timeout(1);
  const httplib::Result result = client.Get("/reviews/" + hotel);
  if (!result || result->status != 200) return std::nullopt;
  nlohmann::json reviews = nlohmann::json::parse(result->body, nullptr, /*allow_exceptions=*/false);
  if (reviews.is_discarded()) return std::nullopt;
  return reviews;
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: " << argv[0]
              << " PORT   (REVIEW_ML_URL, REVIEW_TIME_URL in the environment)\n";
    return 2;
  }
  const std::string review_ml = environment("REVIEW_ML_URL");
  const std::string review_time = environment("REVIEW_TIME_URL");

  const std::unique_ptr<httplib::Server> server = expedia::make_server();
  server->Get("/health",
              [](const httplib::Request&, httplib::Response& response) { response.status = 204; });
  server->Get(R"(/hotels/(\d+))",
              [&](const httplib::Request& request, httplib::Response& response) {
                const std::string hotel = request.matches[1];
                std::optional<nlohmann::json> reviews = fetch_reviews(review_ml, hotel);
                if (!reviews) reviews = fetch_reviews(review_time, hotel);
                if (!reviews) {
                  response.status = 503;
                  response.set_content(R"({"error":"no reviews to be had"})", "application/json");
                  return;
                }
                response.set_content(nlohmann::json{{"hotel", hotel}, {"reviews", *reviews}}.dump(),
                                     "application/json");
              });
  return server->listen("127.0.0.1", std::atoi(argv[1])) ? 0 : 1;
}
