#include "cli/init/reads.h"

#include <gtest/gtest.h>

#include "cli/init/other_reads.h"

namespace filibuster::init {
namespace {

// "NAME" where nothing stands in for it, "NAME?" where something unknown does, "NAME=default".
std::string reads(const std::string& path, const std::string& text) {
  std::string out;
  for (const VariableRead& read : variables_read(path, text)) {
    out += (out.empty() ? "" : " ") + read.name;
    if (!read.needed) out += read.otherwise ? "=" + *read.otherwise : "?";
  }
  return out;
}

struct Case {
  const char *file, *text, *right;
};

TEST(Reads, AreThoseOfEachLanguage) {
  constexpr Case kCases[] = {
      {"a.py", "G = os.environ[\"GATEWAY_URL\"]", "GATEWAY_URL"},
      {"a.py", "environ.get('A_URL', 'http://a:1')", "A_URL=http://a:1"},
      {"a.py", "int(os.environ.get('REDIS_PORT', 6379))", "REDIS_PORT=6379"},
      {"a.py", "os.getenv('A_URL') or 'b'", "A_URL=b"},
      {"a.py", "f\"http://{os.environ['A_HOST']}:5000\"", "A_HOST"},
      {"a.py", "x = get_env('A_URL', default=None)", "A_URL?"},
      {"a.py", "config('DATABASE_URL', cast=str)", "DATABASE_URL"},
      {"a.js", "const a = process.env.A_URL", "A_URL"},
      {"a.ts", "const a = process.env['A_URL'] ?? 'b'", "A_URL=b"},
      {"a.js", "listen(process.env.PORT || 3000)", "PORT=3000"},
      {"a.js", "listen(Number(process.env.PORT) || 3000)", "PORT=3000"},
      {"a.js", "get(`http://${process.env.A_HOST}:${process.env.A_PORT || '80'}/`)",
       "A_HOST A_PORT=80"},
      {"a.ts", "this.configService.get<string>('A_URL', 'b')", "A_URL=b"},
      {"A.java", "System.getenv(\"A_URL\")", "A_URL"},
      {"A.java", "System.getenv().getOrDefault(\"A_URL\", \"b\")", "A_URL=b"},
      {"A.java", "Optional.ofNullable(System.getenv(\"A_URL\")).orElse(\"b\")", "A_URL=b"},
      {"A.kt", "System.getenv(\"A_URL\") ?: \"b\"", "A_URL=b"},
      {"a.go", "a := os.Getenv(\"A_URL\")\nserve(a)", "A_URL"},
      {"a.go", "a := os.Getenv(\"A_URL\")\nif a == \"\" {\n a = \"b\"\n}", "A_URL=b"},
      {"a.go", "a, ok := os.LookupEnv(\"A_URL\")", "A_URL?"},
      {"a.go", "mustMapEnv(&s.address, \"CART_ADDR\")", "CART_ADDR"},
      {"a.go", "getEnvOr(\"A_URL\", \"b\")", "A_URL=b"},
      {"a.go", "Port int `env:\"A_PORT\" envDefault:\"80\"`", "A_PORT=80"},
      {"a.c", "const char* a = getenv(\"A_URL\");", "A_URL"},
      {"a.rb", "ENV['A_URL']", "A_URL"},
      {"a.rb", "ENV.fetch('A_URL', 'b')", "A_URL=b"},
      {"a.rb", "ENV.fetch(\"A_URL\") { \"b\" }", "A_URL=b"},
      {"a.rs", "env::var(\"A_URL\").expect(\"none\")", "A_URL"},
      {"a.rs", "env::var(\"A_URL\")\n  .unwrap_or_else(|_| \"b\".to_string())", "A_URL=b"},
      {"a.php", "getenv('A_URL') ?: 'b'; $_ENV['C_URL']", "A_URL=b C_URL"},
      {"a.cs", "Environment.GetEnvironmentVariable(\"A_URL\") ?? \"b\"", "A_URL=b"},
      {"a.ex", "System.fetch_env!(\"A_URL\")", "A_URL"},
      {"src/application.yml", "url: http://${A_HOST:localhost}:${A_PORT}\n# ${NOT}",
       "A_HOST=localhost A_PORT"},
  };
  for (const Case& one : kCases) EXPECT_EQ(reads(one.file, one.text), one.right) << one.text;
}

TEST(Reads, AreNoWritesRemarksOrOtherTexts) {
  constexpr Case kCases[] = {
      {"a.py", "os.environ['A_URL'] = 'b'", ""},
      {"a.py", "# os.environ['A_URL']", ""},
      {"a.py", "os.environ[name]; os.environ['lower']", ""},
      {"a.py", "send('A_URL'); environ", ""},
      {"a.js", "process.env.A_URL = 'b'", ""},
      {"a.js", "/* process.env.A_URL */ env.get(name)", ""},
      {"a.go", "os.Setenv(\"A_URL\", \"b\")", ""},
      {"a.js", "sendEnvelope('HELLO')", ""},
      {"a.js", "getEnv(", ""},
      {"a.py", "environ[", ""},
      {"a.txt", "os.environ['A_URL']", ""},
      // What is asked for is not needed.
      {"a.js", "if (process.env.A_URL) {}", "A_URL?"},
      {"a.js", "a = process.env.A_URL ? 1 : 2", "A_URL?"},
      {"a.go", "if a := os.Getenv(\"A_URL\"); a != \"\" {}", "A_URL?"},
      {"a.rs", "if let Ok(a) = env::var(\"A_URL\") {}", "A_URL?"},
  };
  for (const Case& one : kCases) EXPECT_EQ(reads(one.file, one.text), one.right) << one.text;
}

TEST(Reads, AreThoseOfACommand) {
  std::string names;
  for (const VariableRead& read : variables_of_command(
           "x", "./a $A_PORT ${B_URL:-http://b:1} ${port:c} $lower $$ $1 ${D_URL} $"))
    names += read.name + "=" + read.otherwise.value_or("") + " ";
  EXPECT_EQ(names, "A_PORT= B_URL=http://b:1 D_URL= ");
}

TEST(Reads, TellWhoServesTls) {
  EXPECT_TRUE(serves_tls("https.createServer({key}, handle).listen(1)"));
  EXPECT_TRUE(serves_tls("exec uvicorn a:app --ssl-keyfile k"));
  EXPECT_FALSE(serves_tls("tls ? https.createServer(o) : http.createServer()"));
  EXPECT_FALSE(serves_tls("http.createServer()"));
}

TEST(Reads, EndInTextsThatAreNestedDeep) {
  std::string text;
  for (int i = 0; i < 60000; ++i) text += "`${env ";
  for (int i = 0; i < 60000; ++i) text += "}`";
  EXPECT_EQ(reads("a.js", text), "");
  std::string line;
  for (int i = 0; i < 10000; ++i) line += "a=process.env.A_URL;";
  EXPECT_EQ(variables_read("a.js", line).size(), 10000u);
}

TEST(Reads, HaveTheirLines) {
  const auto all = variables_read("t/a.js", "\nx = `\n ${process.env.A}`\ny = process.env.B_URL");
  ASSERT_EQ(all.size(), 1u);  // A is no name of two letters
  EXPECT_EQ(all[0].file, "t/a.js");
  EXPECT_EQ(all[0].line, 4u);
  const auto inner = variables_read("a.js", "\nx = `\n ${process.env.A_URL}`");
  ASSERT_EQ(inner.size(), 1u);
  EXPECT_EQ(inner[0].line, 3u);
}

}  // namespace
}  // namespace filibuster::init
