// Cases for tests, small enough to be read.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/cases/matching.h"
#include "daemon/cases/model.h"

namespace filibuster::cases {

inline nlohmann::json json_of_text(std::string_view text) {
  return nlohmann::json::parse(text);
}

inline CallInput http_input(std::string to, std::string method, std::string target,
                            std::string body = "") {
  CallInput out;
  out.to = std::move(to);
  out.http.method = std::move(method);
  out.http.target = std::move(target);
  out.http.body = std::move(body);
  return out;
}

inline CallInput redis_input(std::string_view words) {
  CallInput out;
  out.kind = Kind::kRedis;
  out.to = "cache";
  out.command = json_of_text(words);
  return out;
}

// A call behind the one before it, answered with `answer`.
inline Call* add_call(Case* to, CallInput input, std::string_view answer, std::string site = "") {
  Call call;
  call.input = std::move(input);
  call.site = std::move(site);
  if (!to->calls.empty()) call.after = {to->calls.size() - 1};
  if (call.input.kind == Kind::kRedis) {
    call.reply = json_of_text(answer);
  } else {
    call.answer.status = 200;
    call.answer.body = answer;
  }
  to->calls.push_back(std::move(call));
  return &to->calls.back();
}

// POST /orders: looks at the cache, asks for a price, keeps it, sends a mail beside that.
inline Case order_case() {
  Case out;
  out.service = "orders";
  out.base_us = 1'796'030'047'123'456;
  out.request = http_input("", "POST", "/orders", R"({"item": 7})").http;
  out.request.headers = {{"Content-Type", "application/json"}};
  add_call(&out, redis_input(R"(["GET", "price:7"])"), "null", "4be1c07a");
  add_call(&out, http_input("pricing", "GET", "/prices/7"), R"({"cents":950})", "90d2f31c");
  add_call(&out, redis_input(R"(["SET", "price:7", "950"])"), R"({"status": "OK"})", "1f00aa42");
  add_call(&out, http_input("mail", "POST", "/send", R"({"to":"ann"})"), "", "c7713b0e")->after = {
      1};
  out.answer.status = 201;
  out.answer.headers = {{"Content-Type", "application/json"}};
  out.answer.body = "{\"id\":7,\"total\":950}\n";
  return out;
}

inline Rules plain_rules() {
  return {"orders", {"content-type", "accept"}, {}};
}

inline LiveCall live(CallInput input, std::string site = "", Cause cause = Cause::kCase) {
  return {std::move(input), std::move(site), cause};
}

}  // namespace filibuster::cases
