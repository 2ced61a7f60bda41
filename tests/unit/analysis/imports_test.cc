#include "cli/analysis/imports.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace filibuster::analysis {
namespace {

using Names = std::vector<std::string>;

bool imports(const std::string& path, const std::string& text, const std::string& wanted) {
  const auto source = read_source(path, text);
  for (const Import& one : imports_of(*source)) {
    if (std::find(one.candidates.begin(), one.candidates.end(), wanted) != one.candidates.end())
      return true;
  }
  return false;
}

TEST(Imports, OfEachLanguage) {
  EXPECT_TRUE(imports("a.py", "import os, shop.http as h", "shop/http.py"));
  EXPECT_TRUE(imports("a.py", "from shop import (http,\n users as u)", "shop/users.py"));
  EXPECT_TRUE(imports("a.py", "from shop import http", "shop/__init__.py"));
  EXPECT_TRUE(imports("a.py", "from . import http", "./http.py"));
  EXPECT_TRUE(imports("a.py", "from ..lib.x import y", "./../lib/x.py"));
  EXPECT_FALSE(imports("a.py", "x = 'import shop'", "shop.py"));
  EXPECT_TRUE(imports("a.mjs", "import { x } from './b.mjs';", "./b.mjs"));
  EXPECT_TRUE(imports("a.ts", "import './b.js';", "./b.ts"));
  EXPECT_TRUE(imports("a.js", "const b = require('../b');", "../b/index.js"));
  EXPECT_FALSE(imports("a.js", "const b = require('express');", "express.js"));
  EXPECT_TRUE(imports("A.java", "import com.shop.Users;", "com/shop/Users.java"));
  EXPECT_TRUE(imports("A.java", "class A { B b; }", "B.java"));
  EXPECT_TRUE(imports("a.cc", "#include \"shop/http.h\"\n#include <vector>", "shop/http.cc"));
  EXPECT_EQ(
      go_packages_of(*read_source("a.go", "package a\nimport (\n \"fmt\"\n x \"shop/users\"\n)")),
      (Names{"fmt", "shop/users"}));
}

std::string first(const std::string& command) {
  const Names found = program_candidates(shell_words(command));
  return found.empty() ? "" : found[0];
}

TEST(Program, IsNamedByTheCommand) {
  EXPECT_EQ(first("exec python3 users.py --port ${port:users}"), "users.py");
  EXPECT_EQ(first("python3 -m shop.users"), "shop/users.py");
  EXPECT_EQ(first("uvicorn users:app --port 1"), "users.py");
  EXPECT_EQ(first("cd x && exec node 'my app.mjs' 80"), "my app.mjs");
  const Names java = program_candidates(shell_words("java -Xmx32m -cp build/classes Users 80"));
  EXPECT_EQ(java[0], "Users.java");
  const Names built = program_candidates(shell_words("exec ../../build/content ${port:a} a"));
  EXPECT_EQ(built[0], "content.cc");
  const Names go = program_candidates(shell_words("go run ./cmd/users"));
  EXPECT_NE(std::find(go.begin(), go.end(), "./cmd/users/main.go"), go.end());
  EXPECT_EQ(first(""), "");
}

TEST(Files, OfOthersAreLeftOut) {
  for (const char* path : {"a/test_x.py", "x_test.go", "x.spec.ts", "x.min.js", "shop_pb2.py",
                           "shop.pb.cc", "AppTest.java", "conftest.py"})
    EXPECT_TRUE(is_test_or_generated(path)) << path;
  for (const char* path : {"users.py", "latest.py", "contest.go"})
    EXPECT_FALSE(is_test_or_generated(path)) << path;
  for (const char* name : {"node_modules", ".git", "build", "venv"})
    EXPECT_TRUE(is_foreign_folder(name)) << name;
  EXPECT_FALSE(is_foreign_folder("src"));
}

}  // namespace
}  // namespace filibuster::analysis
