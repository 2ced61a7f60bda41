// tickets PORT: the same as tickets.py, on cpp-httplib and hiredis, with the same regressions.
#include <hiredis/hiredis.h>
#include <httplib.h>
#include <openssl/hmac.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <iostream>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "pool.h"

namespace tickets {
namespace {

using nlohmann::json;

constexpr int kDraws = 32;
constexpr int kTokenLasts = 3600;    // seconds
constexpr int kWait = 30;            // seconds for an answer
constexpr int kServingThreads = 64;  // a kept connection takes one

std::string environment(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : otherwise;
}

const std::string bug = environment("BUG", "");
const std::string currency = bug == "query" ? "usd" : "eur";
const std::string key = environment("KEY", "");

struct Answer {
  int status = 200;
  json value;
};

// The answer to a request that cannot go on.
struct Failed : std::runtime_error {
  Failed(int with, const std::string& why) : std::runtime_error(why), status(with) {}
  int status;
};

class Cache {
 public:
  Cache(const std::string& host, int port, std::size_t size)
      : connections_(size, [=] { return Connection(redisConnect(host.c_str(), port)); }) {}

  std::optional<std::string> get(const std::string& name) { return ask({"GET", name}); }
  void set(const std::string& name, const std::string& value) { ask({"SET", name, value}); }
  long incr(const std::string& name) { return std::stol(ask({"INCR", name}).value_or("0")); }

 private:
  struct Free {
    void operator()(redisContext* context) const { redisFree(context); }
    void operator()(redisReply* reply) const { freeReplyObject(reply); }
  };
  using Connection = std::unique_ptr<redisContext, Free>;

  std::optional<std::string> ask(const std::vector<std::string>& words) {
    const auto connection = connections_.take();
    std::vector<const char*> texts;
    std::vector<std::size_t> sizes;
    for (const std::string& word : words) {
      texts.push_back(word.data());
      sizes.push_back(word.size());
    }
    redisContext* context = connection->get();
    const std::unique_ptr<redisReply, Free> reply(
        context == nullptr || context->err != 0
            ? nullptr
            : static_cast<redisReply*>(redisCommandArgv(context, static_cast<int>(words.size()),
                                                        texts.data(), sizes.data())));
    if (!reply || reply->type == REDIS_REPLY_ERROR) throw Failed(502, "the cache does not answer");
    if (reply->type == REDIS_REPLY_NIL) return std::nullopt;
    if (reply->type == REDIS_REPLY_INTEGER) return std::to_string(reply->integer);
    return std::string(reply->str, reply->len);
  }

  Pool<Connection> connections_;
};

class Catalog {
 public:
  Catalog(const std::string& url, std::size_t size)
      : connections_(size, [=] {
          auto client = std::make_unique<httplib::Client>(url);
          client->set_keep_alive(true);
          client->set_tcp_nodelay(true);
          client->set_read_timeout(kWait);
          return client;
        }) {}

  json ask(const std::string& path) {
    const auto connection = connections_.take();
    const httplib::Result answer = (*connection)->Get(path);
    if (!answer) throw Failed(502, "the catalog does not answer");
    if (answer->status != 200) throw Failed(answer->status, "the catalog has no such thing");
    return json::parse(answer->body);
  }

 private:
  Pool<std::unique_ptr<httplib::Client>> connections_;
};

std::string encoded(std::string_view bytes) {
  constexpr char kLetters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::string out;
  unsigned value = 0, bits = 0;
  for (const unsigned char byte : bytes) {
    value = value << 8 | byte;
    for (bits += 8; bits >= 6; bits -= 6) out += kLetters[value >> (bits - 6) & 63];
  }
  if (bits > 0) out += kLetters[value << (6 - bits) & 63];
  return out;
}

std::string decoded(std::string_view text) {
  std::string out;
  unsigned value = 0, bits = 0;
  for (const char letter : text) {
    const unsigned digit = letter >= 'A' && letter <= 'Z'   ? unsigned(letter - 'A')
                           : letter >= 'a' && letter <= 'z' ? unsigned(letter - 'a' + 26)
                           : letter >= '0' && letter <= '9' ? unsigned(letter - '0' + 52)
                           : letter == '-'                  ? 62
                                                            : 63;
    value = value << 6 | digit;
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      out += static_cast<char>(value >> bits & 255);
    }
  }
  return out;
}

std::string signature_of(const std::string& text) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
       reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest, &size);
  return encoded({reinterpret_cast<const char*>(digest), size});
}

// A random UUID.
std::string new_code() {
  std::random_device random;
  char text[37];
  std::snprintf(text, sizeof text, "%08x-%04x-4%03x-%04x-%08x%04x", random(), random() & 0xffff,
                random() & 0xfff, 0x8000 | (random() & 0x3fff), random(), random() & 0xffff);
  return text;
}

std::string time_now() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
  const std::time_t seconds = milliseconds / 1000;
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char day[32], text[48];
  std::strftime(day, sizeof day, "%Y-%m-%dT%H:%M:%S", &parts);
  std::snprintf(text, sizeof text, "%s.%03d+00:00", day, static_cast<int>(milliseconds % 1000));
  return text;
}

class Service {
 public:
  Service(const std::string& cache, const std::string& catalog, std::size_t pool)
      : cache_(cache.substr(0, cache.rfind(':')), std::stoi(cache.substr(cache.rfind(':') + 1)),
               pool),
        catalog_(catalog, pool) {}

  Answer sell(const json& order) {
    const int event = order.at("event"), seats = order.at("seats");
    const std::string number = std::to_string(event);
    if (bug == "exchanged") cache_.incr("sold:" + number);
    const int total = price(number) * seats;
    if (bug == "extra") cache_.get("discount:" + number);
    if (bug != "exchanged") cache_.incr("sold:" + number);
    const std::string code = new_code();
    if (bug != "dropped")
      cache_.set("ticket:" + code,
                 number + ":" + std::to_string(seats) + ":" + std::to_string(total));
    return {201,
            {{"code", code},
             {"event", event},
             {bug == "field" ? "places" : "seats", seats},
             {"total", total},
             {"issued", time_now()}}};
  }

  Answer event(const std::string& number) {
    {
      const std::lock_guard hold(lock_);
      if (const auto found = events_.find(number); found != events_.end())
        return {200, found->second};
    }
    const json value = catalog_.ask("/events/" + number + "?currency=" + currency);
    const std::lock_guard hold(lock_);
    events_[number] = value;
    return {200, value};
  }

  Answer sales(const std::string& event) {
    const long sold = std::stol(cache_.get("sold:" + event).value_or("0"));
    return {200, {{"event", std::stoi(event)}, {"sold", sold}}};
  }

  Answer quote(const std::string& event) { return {200, catalog_.ask("/quotes/" + event)}; }

  Answer opening() {
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    gmtime_r(&now, &parts);
    const bool is_open = parts.tm_hour >= 8 && parts.tm_hour < 20 && parts.tm_wday != 0;
    char day[16];
    std::strftime(day, sizeof day, "%A", &parts);
    const auto desk = cache_.get(is_open ? "desk:day" : "desk:night");
    return {200, {{"open", is_open}, {"day", day}, {"desk", desk ? json(*desk) : json()}}};
  }

  // As many calls as draws were lucky.
  Answer lucky() {
    std::random_device random;
    json calls = json::array();
    for (int draw = 0; draw < kDraws; ++draw)
      if (random() % 2 == 0) calls.push_back(cache_.incr("lucky"));
    return {200, {{"calls", calls}}};
  }

  Answer login(const json& who) {
    const json claims = {{"sub", who.at("name")}, {"exp", std::time(nullptr) + kTokenLasts}};
    const std::string text =
        encoded(R"({"alg":"HS256","typ":"JWT"})") + "." + encoded(claims.dump());
    return {200, {{"token", text + "." + signature_of(text)}}};
  }

  Answer me(const std::string& authorization) {
    const std::string token =
        authorization.starts_with("Bearer ") ? authorization.substr(7) : authorization;
    const std::size_t last = token.rfind('.');
    const std::string text = token.substr(0, last);
    if (last == token.npos || token.substr(last + 1) != signature_of(text))
      return {401, {{"error", "the signature is wrong"}}};
    const json claims = json::parse(decoded(text.substr(text.find('.') + 1)));
    if (claims.at("exp").get<std::time_t>() <= std::time(nullptr))
      return {401, {{"error", "the token has expired"}}};
    const std::string name = claims.at("sub");
    const long bought = std::stol(cache_.get("tickets-of:" + name).value_or("0"));
    return {200, {{"name", name}, {"tickets", bought}}};
  }

 private:
  int price(const std::string& event) {
    if (const auto found = cache_.get("event:" + event)) return std::stoi(*found);
    const int cents = catalog_.ask("/events/" + event + "?currency=" + currency).at("cents");
    cache_.set("event:" + event, std::to_string(cents));
    return cents;
  }

  Cache cache_;
  Catalog catalog_;
  std::mutex lock_;
  std::map<std::string, json> events_;  // what the catalog has said of an event
};

void answer(httplib::Response& response, const std::function<Answer()>& handle) {
  Answer with;
  try {
    with = handle();
  } catch (const Failed& failed) {
    with = {failed.status, {{"error", failed.what()}}};
  } catch (const json::exception&) {
    with = {400, {{"error", "the request is not understood"}}};
  }
  response.status = with.status;
  response.set_content(with.value.dump(), "application/json");
}

int serve(int port, Service& service) {
  using httplib::Request;
  using httplib::Response;
  httplib::Server server;
  server.set_tcp_nodelay(true);
  server.set_keep_alive_max_count(1'000'000);
  server.new_task_queue = [] { return new httplib::ThreadPool(kServingThreads); };
  server.Get("/health", [](const Request&, Response& response) { response.status = 204; });
  server.Post("/tickets", [&](const Request& request, Response& response) {
    answer(response, [&] { return service.sell(json::parse(request.body)); });
  });
  server.Post("/login", [&](const Request& request, Response& response) {
    answer(response, [&] { return service.login(json::parse(request.body)); });
  });
  server.Get("/me", [&](const Request& request, Response& response) {
    answer(response, [&] { return service.me(request.get_header_value("Authorization")); });
  });
  server.Get("/open", [&](const Request&, Response& response) {
    answer(response, [&] { return service.opening(); });
  });
  server.Get("/lucky", [&](const Request&, Response& response) {
    answer(response, [&] { return service.lucky(); });
  });
  server.Get(R"(/events/(\d{1,9}))", [&](const Request& request, Response& response) {
    answer(response, [&] { return service.event(request.matches[1]); });
  });
  server.Get(R"(/sales/(\d{1,9}))", [&](const Request& request, Response& response) {
    answer(response, [&] { return service.sales(request.matches[1]); });
  });
  server.Get(R"(/quotes/(\d{1,9}))", [&](const Request& request, Response& response) {
    answer(response, [&] { return service.quote(request.matches[1]); });
  });
  return server.listen("127.0.0.1", port) ? 0 : 1;
}

}  // namespace
}  // namespace tickets

int main(int argc, char** argv) {
  const std::string cache = tickets::environment("CACHE", "");
  const std::string catalog = tickets::environment("CATALOG_URL", "");
  if (argc != 2 || cache.empty() || catalog.empty()) {
    std::cerr << "usage: " << argv[0]
              << " PORT   (CACHE, CATALOG_URL and KEY in the environment)\n";
    return 2;
  }
  tickets::Service service(cache, catalog, std::stoul(tickets::environment("POOL", "4")));
  return tickets::serve(std::atoi(argv[1]), service);
}
