#include "cli/analysis/imports.h"

#include <algorithm>
#include <array>
#include <set>

namespace filibuster::analysis {
namespace {

template <size_t n>
bool in_list(std::string_view word, const std::array<std::string_view, n>& list) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

std::string with_slashes(std::string_view dotted) {
  std::string out(dotted);
  std::replace(out.begin(), out.end(), '.', '/');
  return out;
}

// import a.b, c as d; from a.b import c, d; from . import x; from ..y import z
void python_imports(const Source& source, std::vector<Import>* out) {
  const auto count = static_cast<uint32_t>(source.tokens.size());
  const auto module_at = [&](uint32_t* at) {
    std::string path;
    for (; *at < count; ++*at) {  // leading dots: the package itself, and those above it
      if (source.is(*at, "...")) {
        path += path.empty() ? "../../" : "../../../";
      } else if (source.is(*at, ".")) {
        path += path.empty() ? "./" : "../";
      } else {
        break;
      }
    }
    while (source.token(*at).word() && !source.is(*at, "import")) {
      path += source.tokens[(*at)++].text;
      if (!source.is(*at, ".")) break;
      path += '/';
      ++*at;
    }
    return path;
  };
  const auto add = [&](const std::string& module, const std::vector<std::string>& names) {
    Import one;
    one.upwards = !module.starts_with('.');
    const bool package = module.ends_with('/');
    if (!package) one.candidates = {module + ".py", module + "/__init__.py"};
    for (const std::string& name : names) {
      one.candidates.push_back(module + (package ? "" : "/") + name + ".py");
      one.candidates.push_back(module + (package ? "" : "/") + name + "/__init__.py");
    }
    out->push_back(std::move(one));
  };
  for (uint32_t i = 0; i < count; ++i) {
    if (!source.tokens[i].first_in_line) continue;
    if (source.is(i, "import")) {
      uint32_t at = i + 1;
      while (at < count && !source.tokens[at].first_in_line) {
        const std::string module = module_at(&at);
        if (module.empty()) break;
        add(module, {});
        while (at < count && !source.is(at, ",") && !source.tokens[at].first_in_line) ++at;
        if (source.is(at, ",")) ++at;
      }
    } else if (source.is(i, "from")) {
      uint32_t at = i + 1;
      const std::string module = module_at(&at);
      if (module.empty() || !source.is(at, "import")) continue;
      std::vector<std::string> names;
      const bool list = source.is(at + 1, "(");
      for (++at; at < count && names.size() < 64; ++at) {
        if (source.is(at, ")") || (!list && source.tokens[at].first_in_line)) break;
        if (source.tokens[at].word() && !source.is(at - 1, "as") && !source.is(at, "as"))
          names.emplace_back(source.tokens[at].text);
      }
      add(module, names);
    }
  }
}

void javascript_imports(const Source& source, std::vector<Import>* out) {
  for (uint32_t i = 1; i < source.tokens.size(); ++i) {
    const Token& token = source.tokens[i];
    if (!token.string() || !token.text.starts_with('.')) continue;
    const bool call = source.is(i - 1, "(") && i >= 2 &&
                      (source.is(i - 2, "require") || source.is(i - 2, "import"));
    if (!call && !source.is(i - 1, "from") && !source.is(i - 1, "import")) continue;
    Import one;
    const std::string path(token.text);
    one.candidates.push_back(path);
    // TypeScript imports "x.js", the compiled file, for x.ts.
    const std::string stem = path.ends_with(".js") ? path.substr(0, path.size() - 3) : path;
    for (const char* end : {".js", ".mjs", ".cjs", ".ts", ".mts", ".tsx", ".jsx", "/index.js",
                            "/index.mjs", "/index.ts"})
      one.candidates.push_back(stem + end);
    out->push_back(std::move(one));
  }
}

// Classes of the same package are named without an import.
void java_imports(const Source& source, std::vector<Import>* out) {
  std::set<std::string_view> names;
  for (uint32_t i = 0; i < source.tokens.size(); ++i) {
    const Token& token = source.tokens[i];
    if (token.is("import")) {
      std::string path;
      uint32_t at = source.is(i + 1, "static") ? i + 2 : i + 1;
      while (source.token(at).word() || source.is(at, ".")) path += source.tokens[at++].text;
      path = with_slashes(path);
      Import one{{path + ".java", path + ".kt"}, true};
      if (const size_t slash = path.rfind('/'); slash != std::string::npos) {  // import static
        one.candidates.push_back(path.substr(0, slash) + ".java");
      }
      out->push_back(std::move(one));
      i = at;
      continue;
    }
    const bool upper = token.word() && token.text[0] >= 'A' && token.text[0] <= 'Z';
    if (upper && !(i > 0 && source.is(i - 1, "."))) names.insert(token.text);
  }
  for (std::string_view name : names)
    out->push_back({{std::string(name) + ".java", std::string(name) + ".kt"}, false});
}

void cpp_imports(const Source& source, std::vector<Import>* out) {
  constexpr std::array<std::string_view, 6> kEndings = {".cc", ".cpp", ".cxx", ".c", ".hpp", ".h"};
  for (uint32_t i = 2; i < source.tokens.size(); ++i) {
    const Token& token = source.tokens[i];
    if (!token.string() || !source.is(i - 1, "include") || !source.is(i - 2, "#")) continue;
    Import one;
    one.upwards = true;
    const std::string path(token.text);
    one.candidates.push_back(path);
    // The source that defines what a header declares stands beside the header.
    const std::string stem = path.substr(0, path.rfind('.'));
    for (std::string_view ending : kEndings) {
      if (stem + std::string(ending) != path) one.candidates.push_back(stem + std::string(ending));
    }
    out->push_back(std::move(one));
  }
}

}  // namespace

std::vector<Import> imports_of(const Source& source) {
  std::vector<Import> out;
  switch (source.language) {
    case Language::kPython:
      python_imports(source, &out);
      break;
    case Language::kJavaScript:
      javascript_imports(source, &out);
      break;
    case Language::kJava:
      java_imports(source, &out);
      break;
    case Language::kCpp:
      cpp_imports(source, &out);
      break;
    case Language::kGo:
    case Language::kNone:
      break;
  }
  return out;
}

std::vector<std::string> go_packages_of(const Source& source) {
  std::vector<std::string> out;
  for (uint32_t i = 0; i < source.tokens.size(); ++i) {
    if (!source.is(i, "import")) continue;
    const bool list = source.is(i + 1, "(");
    const uint32_t end =
        list ? source.partner[i + 1] : std::min<uint32_t>(i + 3, source.tokens.size());
    for (uint32_t at = i + 1; at < end && at < source.tokens.size(); ++at) {
      if (source.tokens[at].string()) out.emplace_back(source.tokens[at].text);
    }
  }
  return out;
}

std::vector<std::string> shell_words(const std::string& text) {
  std::vector<std::string> out;
  std::string word;
  bool any = false;
  char quote = 0;
  const auto finish = [&] {
    if (any) out.push_back(word);
    word.clear();
    any = false;
  };
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != 0) {
      if (c == quote) {
        quote = 0;
      } else {
        word += c;
      }
    } else if (c == '\'' || c == '"') {
      quote = c;
      any = true;
    } else if (c == '\\' && i + 1 < text.size()) {
      word += text[++i];
      any = true;
    } else if (c == ' ' || c == '\t' || c == '\n') {
      finish();
    } else if (c == ';' || c == '|' || c == '&' || c == '>' || c == '<') {
      // "cd x && exec ./y": the last program is the service.
      finish();
      if (c == ';' || (c == '&' && i + 1 < text.size() && text[i + 1] == '&')) out.clear();
    } else {
      word += c;
      any = true;
    }
  }
  finish();
  return out;
}

std::vector<std::string> program_candidates(const std::vector<std::string>& words) {
  std::vector<std::string> out;
  bool java = false, module = false, python_server = false;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const size_t slash = word.rfind('/');
    const std::string base = slash == std::string::npos ? word : word.substr(slash + 1);
    if (word.find("${") != std::string::npos && language_of(word) == Language::kNone) continue;
    if (language_of(word) != Language::kNone) {
      out.push_back(word);
      continue;
    }
    if (base == "java" || base == "kotlin") {
      java = true;
      continue;
    }
    constexpr std::array<std::string_view, 5> kServers = {"gunicorn", "uvicorn", "hypercorn",
                                                          "flask", "waitress-serve"};
    if (in_list(base, kServers)) {
      python_server = true;
      continue;
    }
    if (word == "-m" && !java) {
      module = true;
      continue;
    }
    if (java &&
        (word == "-cp" || word == "-classpath" || word == "--class-path" || word == "-jar")) {
      ++i;  // its value
      continue;
    }
    if (word.empty() || word[0] == '-' || word == "exec" || word == "run") continue;
    if (module) {
      const std::string path = with_slashes(word);
      if (in_list(word, kServers)) {
        python_server = true;
      } else {
        out.push_back(path + ".py");
        out.push_back(path + "/__main__.py");
      }
      module = false;
      continue;
    }
    if (python_server && word.find_first_of("/:=") != 0) {
      const std::string path = with_slashes(word.substr(0, word.find(':')));
      out.push_back(path + ".py");
      out.push_back(path + "/__init__.py");
      continue;
    }
    if (java) {
      const std::string path = with_slashes(word);
      for (const char* end : {".java", ".kt"}) {
        out.push_back(path + end);
        out.push_back("src/main/java/" + path + end);
      }
      java = false;
      continue;
    }
    constexpr std::array<std::string_view, 14> kInterpreters = {
        "python", "python3", "pypy3", "node", "nodejs", "deno",    "bun",
        "tsx",    "npx",     "npm",   "sh",   "bash",   "ts-node", "go"};
    if (in_list(base, kInterpreters)) continue;
    // A program that was built: the main file has the program's name.
    for (const char* end : {".cc", ".cpp", ".cxx", ".c", ".go"}) out.push_back(base + end);
    for (const char* main : {"/main.go", "/index.js", "/index.mjs", "/__main__.py"})
      out.push_back(word + main);
    out.push_back(base + "/main.go");
    out.push_back("cmd/" + base + "/main.go");
  }
  return out;
}

bool is_test_or_generated(const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string_view name =
      std::string_view(path).substr(slash == std::string::npos ? 0 : slash + 1);
  const auto ends = [&](std::string_view end) { return name.ends_with(end); };
  const std::string_view stem = name.substr(0, name.rfind('.'));
  if (stem.ends_with("_test") || stem.ends_with(".test") || stem.ends_with(".spec") ||
      stem.ends_with("_pb2") || stem.ends_with("_pb2_grpc") || stem.ends_with(".pb") ||
      stem.ends_with(".min") || stem.ends_with("_tests") || stem.ends_with("_pb"))
    return true;
  return name.starts_with("test_") || name == "conftest.py" || ends("Test.java") ||
         ends("Tests.java") || ends("Test.kt") || ends("_grpc.pb.go") || ends("OuterClass.java") ||
         ends("Grpc.java");
}

bool is_foreign_folder(const std::string& name) {
  constexpr std::array<std::string_view, 25> kNames = {
      "node_modules", "build",         "dist",   "target",    "venv",        "env",
      "__pycache__",  "site-packages", "vendor", "coverage",  "out",         "bin",
      "obj",          "test",          "tests",  "__tests__", "__mocks__",   "spec",
      "testdata",     "mocks",         "docs",   "examples",  "third_party", "bower_components",
      "androidTest"};
  return name.starts_with('.') || in_list(name, kNames);
}

}  // namespace filibuster::analysis
