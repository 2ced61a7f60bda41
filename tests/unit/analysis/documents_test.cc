#include "cli/analysis/documents.h"

#include <gtest/gtest.h>

namespace filibuster::analysis {
namespace {

// "status:404 GET /users/*" for each.
std::vector<std::string> answers(const ApiDocument& document) {
  std::vector<std::string> out;
  for (const Evidence& one : document.evidence) {
    std::string line = fault_text(one.answer);
    for (const Endpoint& endpoint : one.endpoints)
      line += " " + endpoint.method + " " + endpoint.path;
    out.push_back(line);
  }
  return out;
}
using Lines = std::vector<std::string>;

TEST(OpenApi, ResponsesOfErrorsWithTheirPaths) {
  const auto read = read_openapi("openapi.yaml", R"(openapi: 3.0.3
servers:
  - url: https://shop.example.com/v1/
paths:
  /users/{id}/books:
    parameters: []
    get:
      responses:
        "200": {description: fine}
        "404":
          description: no such user
        4XX: {}
        default: {$ref: "#/components/responses/Error"}
    x-other: 3
  /health:
    get: {responses: {204: {}}}
  /orders:
    post:
      responses: {503: {}, 5XX: {}}
)");
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(answers(read.value()),
            (Lines{"status:404 GET /v1/users/*/books", "status:400 GET /v1/users/*/books",
                   "status:500 GET /v1/users/*/books", "status:503 POST /v1/orders",
                   "status:500 POST /v1/orders"}));
  EXPECT_EQ(read.value().evidence[0].text,
            "openapi.yaml:10: GET /users/{id}/books answers 404: no such user");
  EXPECT_EQ(read.value().endpoints.size(), 3u);
}

TEST(OpenApi, SwaggerAndJson) {
  const auto read = read_openapi("swagger.json",
                                 "{\n\t\"swagger\": \"2.0\", \"basePath\": \"/api\",\n"
                                 "\t\"paths\": {\"/a\": {\"put\": {\"responses\":\n"
                                 "\t\t{\"409\": {\"description\": \"x\"}}}}}}");
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(answers(read.value()), Lines{"status:409 PUT /api/a"});
  EXPECT_EQ(read.value().evidence[0].text, "swagger.json:4: PUT /a answers 409: x");
}

struct Bad {
  const char* file;
  const char* text;
  const char* begins;
};
TEST(OpenApi, EveryMistakeHasAPlace) {
  const Bad kBad[] = {
      {"a.yaml", "", "a.yaml:1:1: expected an OpenAPI document"},
      {"a.yaml", "a: [", "a.yaml:1:1: not valid YAML: end of sequence flow"},
      {"a.yaml", "openapi: 3.0.0\npaths:\n  /a:\n\tget: 3\n", "a.yaml:4:2: not valid YAML"},
      {"a.json", "{\n \"paths\": nul}",
       "a.json:2:14: syntax error while parsing value - invalid literal"},
      {"a.yaml", "kind: Service\n", "a.yaml:1:1: expected an OpenAPI document with"},
      {"a.yaml", "openapi: 3.1.0\npaths: 3\n", "a.yaml:2:8: 'paths'"},
      {"a.yaml", "openapi: 3.1.0\npaths:\n  a: {}\n", "a.yaml:3:3: a path"},
      {"a.yaml", "openapi: 3.1.0\npaths:\n  /a: []\n", "a.yaml:3:7: path '/a'"},
      {"a.yaml", "openapi: 3.1.0\npaths:\n  /a:\n    get: x\n", "a.yaml:4:10: 'get' of path '/a'"},
      {"a.yaml", "openapi: 3.1.0\npaths: {/a: {get: {responses: 3}}}", "a.yaml:2:31: 'responses'"},
      {"a.yaml", "openapi: 3.1.0\npaths: {/a: {get: {responses: {often: 3}}}}",
       "a.yaml:2:32: a response of GET /a: expected a status"},
  };
  for (const Bad& one : kBad) {
    const auto read = read_openapi(one.file, one.text);
    ASSERT_FALSE(read.ok()) << one.text;
    EXPECT_TRUE(read.error().message.starts_with(one.begins)) << read.error().message;
  }
}

TEST(OpenApi, DeepNestingAndLoopsOfAliasesEnd) {
  EXPECT_FALSE(read_openapi("a.yaml", std::string(100'000, '[')).ok());
  const auto read = read_openapi("a.yaml", "openapi: 3.0.0\npaths: &p\n  /x: *p\n");
  EXPECT_TRUE(read.ok()) << read.error().message;
}

TEST(Proto, ServicesAndMethods) {
  const auto read = read_proto("shop.proto", R"(syntax = "proto3";
package shop.v1;
import "other.proto";
service Cart { rpc Get (other.A) returns (stream B); rpc Put (A) returns (B) {} }
service User { rpc Who (A) returns (B); }
)");
  ASSERT_TRUE(read.ok()) << read.error().message;
  ASSERT_EQ(read.value().size(), 3u);
  EXPECT_EQ(read.value()[1].package_service, "shop.v1.Cart");
  EXPECT_EQ(read.value()[1].method, "Put");
  EXPECT_EQ(read.value()[2].package_service, "shop.v1.User");
}

TEST(Proto, AMistakeHasAPlace) {
  const auto read = read_proto("a.proto", "syntax = \"proto3\";\nservice X {\n  rpc Get A;\n}\n");
  ASSERT_FALSE(read.ok());
  EXPECT_TRUE(read.error().message.starts_with("a.proto:3:11: ")) << read.error().message;
}

}  // namespace
}  // namespace filibuster::analysis
