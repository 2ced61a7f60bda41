// Reviews of hotels over HTTP: what Review ML and Review Time share is all but the order.
#pragma once

#include <httplib.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace expedia {

struct Review {
  int hotel;
  std::string text;
  double relevance;
  std::string date;
};

inline std::vector<Review> reviews_of(int hotel) {
  static const std::vector<Review> all = {
      {7, "Quiet rooms, kind people", 0.9, "2020-02-01"},
      {7, "The lift was being repaired", 0.3, "2020-06-30"},
      {7, "Breakfast until noon", 0.7, "2019-12-24"},
  };
  std::vector<Review> found;
  std::copy_if(all.begin(), all.end(), std::back_inserter(found),
               [&](const Review& review) { return review.hotel == hotel; });
  return found;
}

inline std::string to_json(const std::vector<Review>& reviews, const std::string& order) {
  nlohmann::json list = nlohmann::json::array();
  for (const Review& review : reviews)
    list.push_back({{"text", review.text}, {"date", review.date}, {"relevance", review.relevance}});
  return nlohmann::json{{"order", order}, {"reviews", list}}.dump();
}

// A server; over TLS if the environment names a certificate.
inline std::unique_ptr<httplib::Server> make_server() {
  const char* certificate = std::getenv("TLS_CERTIFICATE");
  const char* key = std::getenv("TLS_KEY");
  if (certificate == nullptr || key == nullptr) return std::make_unique<httplib::Server>();
  return std::make_unique<httplib::SSLServer>(certificate, key);
}

// Serves GET /reviews/HOTEL, sorted by `before`, until the process is ended.
template <typename Before>
int serve_reviews(int argc, char** argv, const std::string& order, Before before) {
  if (argc != 2) {
    std::cerr << "usage: " << argv[0] << " PORT\n";
    return 2;
  }
  const std::unique_ptr<httplib::Server> server = make_server();
  server->Get("/health",
              [](const httplib::Request&, httplib::Response& response) { response.status = 204; });
  server->Get(R"(/reviews/(\d+))",
              [&](const httplib::Request& request, httplib::Response& response) {
                std::vector<Review> reviews = reviews_of(std::stoi(request.matches[1]));
                std::sort(reviews.begin(), reviews.end(), before);
                response.set_content(to_json(reviews, order), "application/json");
              });
  return server->listen("127.0.0.1", std::atoi(argv[1])) ? 0 : 1;
}

}  // namespace expedia
