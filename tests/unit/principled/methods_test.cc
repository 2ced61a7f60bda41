#include "daemon/verbs/principled/methods.h"

#include <gtest/gtest.h>

namespace filibuster {
namespace {

std::string to_text(const std::vector<CoveredMethod>& methods) {
  std::string out;
  for (const CoveredMethod& each : methods) {
    out += each.service + " " + each.method + " " + std::to_string(each.executions);
    for (const std::string& outcome : each.outcomes) out += " " + outcome;
    out += "\n";
  }
  return out;
}

TEST(Methods, CallsCountAsTheOperationThatDescribesThem) {
  const std::vector<PrincipledOperation> operations = {{"orders", "GET", "/orders/*"},
                                                       {"orders", "GET", "/orders/open"},
                                                       {"orders", "POST", "/orders"},
                                                       {"users", "GET", "/orders/*/lines"}};
  MethodCoverage methods(operations);
  methods.add("orders", "GET /orders/7", "a success");
  methods.add("orders", "GET /orders/8?full=a/b", "503");
  methods.add("orders", "GET /orders/open", "a success");
  methods.add("orders", "GET /orders/7", "503");
  methods.add("orders", "GET /orders/7/lines", "404");  // an operation of another service
  methods.add("orders", "PUT /orders/7", "405");
  EXPECT_EQ(to_text(methods.all({})),
            "orders GET /orders/* 3 a success 503\n"
            "orders GET /orders/open 1 a success\n"
            "orders GET /orders/7/lines 1 404\n"
            "orders PUT /orders/7 1 405\n"
            "orders POST /orders 0\n");
}

TEST(Methods, OperationsOfServicesThatNothingCalledAreNotListed) {
  const std::vector<PrincipledOperation> operations = {{"orders", "GET", "/a"}};
  MethodCoverage methods(operations);
  EXPECT_EQ(to_text(methods.all({})), "");
  methods.add("orders", "shop.Orders/Place", "UNAVAILABLE");
  EXPECT_EQ(to_text(methods.all({})), "orders shop.Orders/Place 1 UNAVAILABLE\norders GET /a 0\n");
}

}  // namespace
}  // namespace filibuster
