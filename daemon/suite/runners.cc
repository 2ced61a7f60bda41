#include <algorithm>
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/text/json_depth.h"
#include "core/text/shell_word.h"
#include "daemon/suite/runner.h"

namespace filibuster::suite {
namespace {

using Json = nlohmann::json;
using Tests = std::vector<SuiteTest>;

std::string program_of(const Suite& suite, std::string_view by_default) {
  return suite.program.empty() ? std::string(by_default) : suite.program;
}

std::string path_of(const Suite& suite, std::string_view by_default) {
  return shell_word(suite.path.empty() ? by_default : suite.path);
}

template <typename Use>
void each_line(std::string_view text, const Use& use) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    text.remove_prefix(std::min(end + 1, text.size()));
    use(line);
  }
}

std::string relative_to(const std::string& directory, const std::string& file) {
  const std::string prefix = directory + "/";
  return file.starts_with(prefix) ? file.substr(prefix.size()) : file;
}

// The JSON that a runner wrote; for any other text a value that is no object.
Json read_json(const std::string& text) {
  return is_nested_too_deep(text) ? Json() : Json::parse(text, nullptr, false);
}

std::string text_member(const Json& json, const char* name) {
  const auto found = json.find(name);
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

// The option, unless the user's own command has one like it.
std::string unless_chosen(const Suite& suite, std::string_view name, const std::string& option) {
  return suite.program.find(name) == std::string::npos ? option : "";
}

// --- pytest ---------------------------------------------------------------------------------------

constexpr std::string_view kPytest = "pytest";

std::string list_pytest(const Suite& suite, const std::string&) {
  return program_of(suite, kPytest) +
         " --collect-only -q --no-header --rootdir=. -p no:cacheprovider " + path_of(suite, ".");
}

Result<Tests> parse_pytest(const std::string& text, const std::string&) {
  Tests out;
  bool counts_only = false, ended = false;
  each_line(text, [&](std::string_view line) {
    ended = ended || (line.empty() && !out.empty());
    if (ended || line.starts_with(' ') || line.starts_with('=')) return;
    if (line.find("::") != line.npos) {
      out.push_back(
          {std::string(line), std::string(line.substr(0, line.find("::"))), std::string(line)});
    } else {
      counts_only = counts_only || line.find(".py: ") != line.npos;
    }
  });
  if (out.empty() && counts_only) {
    return Error{
        "pytest prints how many tests each file has, not which, because its own options have "
        "'-q', too: remove it there (addopts)"};
  }
  return out;
}

std::string run_pytest(const Suite& suite, const SuiteTest& test, const std::string& xml) {
  return "export PYTEST_TIMEOUT=0; exec " + program_of(suite, kPytest) +
         " -q --rootdir=. -p no:cacheprovider --junitxml=" + shell_word(xml) + " " +
         shell_word(test.id);
}

// --- unittest -------------------------------------------------------------------------------------

constexpr std::string_view kPython = "python3";
constexpr std::string_view kUnittestMark = "test: ";

std::string list_unittest(const Suite& suite, const std::string&) {
  const std::string script =
      "import sys, unittest\n"
      "def each(suite):\n"
      "    for test in suite:\n"
      "        if isinstance(test, unittest.TestSuite): yield from each(test)\n"
      "        else: yield test\n"
      "for test in each(unittest.defaultTestLoader.discover(sys.argv[1])): print('" +
      std::string(kUnittestMark) + "' + test.id())\n";
  return program_of(suite, kPython) + " -c " + shell_word(script) + " " + path_of(suite, ".");
}

Result<Tests> parse_unittest(const std::string& text, const std::string&) {
  constexpr std::string_view kFailed = "unittest.loader._FailedTest.";
  Tests out;
  std::string failed;
  each_line(text, [&](std::string_view line) {
    if (!line.starts_with(kUnittestMark)) return;
    const std::string id(line.substr(kUnittestMark.size()));
    if (id.starts_with(kFailed)) failed = id.substr(kFailed.size());
    out.push_back({id, "", id});
  });
  if (!failed.empty()) return Error{"the module '" + failed + "' cannot be imported"};
  return out;
}

std::string run_unittest(const Suite& suite, const SuiteTest& test, const std::string&) {
  return "PYTHONPATH=" + path_of(suite, ".") + "${PYTHONPATH:+:$PYTHONPATH} exec " +
         program_of(suite, kPython) + " -m unittest " + shell_word(test.id);
}

// --- the runners of Node -------------------------------------------------------------------------

// They keep exceptions and rejections that nobody handles from ending the process: the one that they know of becomes a
// failure of a test, and mocha says nothing of the others. The first one is written down. It ends as without this, since no
// listener is added to those that decide.
constexpr std::string_view kNodeWatcher = R"js(
const fs = require('fs');
const note = (kind, error) => {
  const text = `${kind}\n${(error && error.stack) || error}\n`;
  try { fs.writeFileSync(__filename.slice(0, -3), text, { flag: 'wx' }); } catch (known) {}
};
process.on('uncaughtExceptionMonitor', (error) => note('uncaughtException', error));
const emit = process.emit;
process.emit = function (name, ...values) {
  if (name === 'unhandledRejection') note(name, values[0]);
  return emit.call(this, name, ...values);
};
)js";

// A word of NODE_OPTIONS, which Node reads in its own way.
std::string node_option_word(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

// What a shell does before the runner starts.
std::string watch_node(const std::string& xml) {
  const std::string uncaught = uncaught_path(xml), watcher = uncaught + ".js";
  return "rm -f " + shell_word(uncaught) + "; printf %s " + shell_word(kNodeWatcher) + " > " +
         shell_word(watcher) + "; export NODE_OPTIONS=\"${NODE_OPTIONS:+$NODE_OPTIONS }\"" +
         shell_word("--require=" + node_option_word(watcher)) + "; ";
}

// --- jest -----------------------------------------------------------------------------------------

constexpr std::string_view kJest = "npx jest";

// The pattern matches no test: jest reads the files, runs none of their tests, and reports them all.
std::string list_jest(const Suite& suite, const std::string& out) {
  return program_of(suite, kJest) + " --json --outputFile=" + shell_word(out) +
         " --testNamePattern='^(?!)' --passWithNoTests" +
         (suite.path.empty() ? "" : " " + shell_word(suite.path));
}

Result<Tests> parse_jest(const std::string& text, const std::string& directory) {
  const Json json = read_json(text);
  if (!json.is_object() || !json.contains("testResults") || !json["testResults"].is_array())
    return Error{"it wrote no list of tests"};
  Tests out;
  for (const Json& result : json["testResults"]) {
    const std::string file = relative_to(directory, text_member(result, "name"));
    const auto tests = result.find("assertionResults");
    if (tests == result.end() || !tests->is_array() || tests->empty()) {
      const std::string message = text_member(result, "message");
      if (!message.empty()) return Error{file + ": " + message};
      continue;
    }
    for (const Json& test : *tests) {
      const std::string name = text_member(test, "fullName");
      out.push_back({file + " > " + name, file, name});
    }
  }
  return out;
}

std::string run_jest(const Suite& suite, const SuiteTest& test, const std::string& xml) {
  const std::string program = program_of(suite, kJest) + " --runTestsByPath " +
                              shell_word(test.file) +
                              " --testNamePattern=" + shell_word(exact_pattern(test.id)) +
                              unless_chosen(suite, "--testTimeout", " --testTimeout=3600000");
  return watch_node(xml) + "exec " + program + " --json --outputFile=" + shell_word(xml);
}

// --- mocha ----------------------------------------------------------------------------------------

constexpr std::string_view kMocha = "npx mocha";

std::string list_mocha(const Suite& suite, const std::string& out) {
  return program_of(suite, kMocha) +
         " --dry-run --reporter json --reporter-option output=" + shell_word(out) +
         (suite.path.empty() ? "" : " " + shell_word(suite.path));
}

Result<Tests> parse_mocha(const std::string& text, const std::string& directory) {
  const Json json = read_json(text);
  if (!json.is_object() || !json.contains("tests") || !json["tests"].is_array())
    return Error{"it wrote no list of tests"};
  Tests out;
  for (const Json& test : json["tests"]) {
    const std::string file = relative_to(directory, text_member(test, "file"));
    const std::string name = text_member(test, "fullTitle");
    out.push_back({file + " > " + name, file, name});
  }
  return out;
}

std::string run_mocha(const Suite& suite, const SuiteTest& test, const std::string& xml) {
  return watch_node(xml) + "exec " + program_of(suite, kMocha) +
         unless_chosen(suite, "--timeout", " --timeout 0") +
         " --reporter xunit --reporter-option output=" + shell_word(xml) + " --grep " +
         shell_word(exact_pattern(test.id)) + " " + shell_word(test.file);
}

// --- node --test ----------------------------------------------------------------------------------

constexpr std::string_view kNode = "node";

// Node cannot list tests, so each file counts as one test.
std::string list_node(const Suite& suite, const std::string&) {
  const std::string path = path_of(suite, ".");
  return "if [ -d " + path + " ]; then find " + path +
         " -name node_modules -prune -o -type f \\( -name '*.test.js' -o -name '*.test.mjs' -o -name '*.test.cjs'"
         " -o -name 'test-*.js' -o -name '*_test.js' -o -path '*/test/*.js' -o -path '*/test/*.mjs' \\) -print"
         " | LC_ALL=C sort; else ls -d " +
         path + "; fi";
}

Result<Tests> parse_node(const std::string& text, const std::string&) {
  Tests out;
  each_line(text, [&](std::string_view line) {
    if (line.starts_with("./")) line.remove_prefix(2);
    if (!line.empty()) out.push_back({std::string(line), std::string(line), std::string(line)});
  });
  return out;
}

std::string run_node(const Suite& suite, const SuiteTest& test, const std::string& xml) {
  return watch_node(xml) + "exec " + program_of(suite, kNode) +
         " --test --test-reporter=spec --test-reporter-destination=stdout"
         " --test-reporter=junit --test-reporter-destination=" +
         shell_word(xml) + " " + shell_word(test.file);
}

// --- GoogleTest -----------------------------------------------------------------------------------

// The command that starts the test program, which is the path of the suite.
std::string gtest_program(const Suite& suite) {
  const std::string path =
      suite.path.find('/') == std::string::npos ? "./" + suite.path : suite.path;
  return (suite.program.empty() ? "" : suite.program + " ") + shell_word(path);
}

std::string list_gtest(const Suite& suite, const std::string&) {
  return gtest_program(suite) + " --gtest_list_tests";
}

Result<Tests> parse_gtest(const std::string& text, const std::string&) {
  Tests out;
  std::string group;
  each_line(text, [&](std::string_view line) {
    line = line.substr(0, line.find("  #"));
    if (line.starts_with("  ")) {
      const std::string name(line.substr(2));
      const bool disabled = name.starts_with("DISABLED_") || group.starts_with("DISABLED_");
      if (!group.empty() && !disabled) out.push_back({group + name, "", group + name});
    } else {
      group = line.ends_with('.') ? std::string(line) : "";
    }
  });
  return out;
}

std::string run_gtest(const Suite& suite, const SuiteTest& test, const std::string& xml) {
  return "exec " + gtest_program(suite) + " --gtest_filter=" + shell_word(test.id) +
         " --gtest_output=" + shell_word("xml:" + xml);
}

// --- JUnit ----------------------------------------------------------------------------------------

constexpr std::string_view kJava = "java";
constexpr std::string_view kJunitMark = "test: ";

// JUnit's console launcher lists tests only from version 1.10 of the platform on, as a tree for people. Java compiles this
// when it lists, by the class path of the tests. JUnit 3 and 4 take part by the vintage engine.
constexpr std::string_view kJunitLister = R"java(
import java.nio.file.Path;
import java.util.*;
import org.junit.platform.engine.discovery.DiscoverySelectors;
import org.junit.platform.engine.support.descriptor.MethodSource;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.core.*;
class ListTests {
  public static void main(String[] arguments) {
    var request = LauncherDiscoveryRequestBuilder.request()
        .selectors(DiscoverySelectors.selectClasspathRoots(Set.of(Path.of(arguments[0])))).build();
    var plan = LauncherFactory.create().discover(request);
    var names = new TreeSet<String>();
    var next = new ArrayDeque<TestIdentifier>(plan.getRoots());
    while (!next.isEmpty()) {
      var one = next.pop();
      next.addAll(plan.getChildren(one));
      if (one.getSource().orElse(null) instanceof MethodSource m)
        names.add(m.getClassName() + "#" + m.getMethodName() + "(" + m.getMethodParameterTypes() + ")");
    }
    for (var name : names) System.out.println("test: " + name);
  }
}
)java";

std::string list_junit(const Suite& suite, const std::string& out) {
  const std::string source = shell_word(out + ".java");
  return "printf %s " + shell_word(kJunitLister) + " > " + source + " && exec " +
         program_of(suite, kJava) + " " + source + " " + path_of(suite, ".");
}

Result<Tests> parse_junit_list(const std::string& text, const std::string&) {
  Tests out;
  each_line(text, [&](std::string_view line) {
    if (!line.starts_with(kJunitMark)) return;
    const std::string id(line.substr(kJunitMark.size()));
    out.push_back({id, "", id});
  });
  return out;
}

// A file for each engine, in a folder: they are put together.
std::string run_junit(const Suite& suite, const SuiteTest& test, const std::string& xml) {
  const std::string folder = shell_word(xml + ".d");
  return "rm -rf " + folder + "; " + program_of(suite, kJava) +
         " org.junit.platform.console.ConsoleLauncher --disable-banner --details=none"
         " --config=junit.jupiter.execution.timeout.mode=disabled --reports-dir " +
         folder + " --select-method " + shell_word(test.id) + "; code=$?; [ -d " + folder +
         " ] && { echo '<testsuites>'; sed -s 1d " + folder + "/*.xml; echo '</testsuites>'; } > " +
         shell_word(xml) + "; exit $code";
}

constexpr std::array kRunners = {
    Runner{"pytest", kPytest, list_pytest, parse_pytest, false, run_pytest,
           "the limits of pytest-timeout are lifted (PYTEST_TIMEOUT=0)"},
    Runner{"unittest", kPython, list_unittest, parse_unittest, false, run_unittest, ""},
    Runner{"jest", kJest, list_jest, parse_jest, true, run_jest,
           "jest's limit for a test is lifted (--testTimeout)"},
    Runner{"mocha", kMocha, list_mocha, parse_mocha, true, run_mocha,
           "mocha's limit for a test is lifted (--timeout 0)"},
    Runner{"node", kNode, list_node, parse_node, false, run_node, ""},
    Runner{"gtest", "", list_gtest, parse_gtest, false, run_gtest, ""},
    Runner{"junit", kJava, list_junit, parse_junit_list, false, run_junit,
           "JUnit's limits for tests are lifted (junit.jupiter.execution.timeout.mode=disabled)"},
};

}  // namespace

const Runner* find_runner(std::string_view name) {
  const auto* const found = std::find_if(kRunners.begin(), kRunners.end(),
                                         [&](const Runner& runner) { return runner.name == name; });
  return found == kRunners.end() ? nullptr : found;
}

std::string runner_names() {
  std::string out;
  for (const Runner& runner : kRunners) out.append(out.empty() ? "" : ", ").append(runner.name);
  return out;
}

std::string installed_program(const Runner& runner, const Suite& suite,
                              const std::string& directory) {
  namespace fs = std::filesystem;
  constexpr std::string_view kNpx = "npx ";
  const std::string program = program_of(suite, runner.program);
  if (!program.starts_with(kNpx)) return suite.program;
  const std::string_view words = std::string_view(program).substr(kNpx.size());
  const std::string_view name = words.substr(0, words.find(' '));
  if (name.empty() || name.find_first_of("-@/\"'$") != name.npos) return suite.program;
  const fs::path from = fs::path(directory).lexically_normal();
  for (fs::path at = from;; at = at.parent_path()) {
    const fs::path file = at / "node_modules/.bin" / name;
    std::error_code failed;
    if (fs::exists(file, failed))
      return shell_word(file.lexically_relative(from).string()) +
             std::string(words.substr(name.size()));
    if (at == at.parent_path()) return suite.program;
  }
}

std::string uncaught_path(const std::string& xml) {
  return xml + ".uncaught";
}

std::string short_name(const std::string& name) {
  // Of a parametrised test the values belong to the name, and may have any signs.
  const std::string_view before = std::string_view(name).substr(0, name.find_first_of("[("));
  constexpr std::string_view kAfterFile = " > ";
  if (const size_t at = before.find(kAfterFile); at != before.npos)
    return name.substr(at + kAfterFile.size());
  const size_t colons = before.rfind("::"), sharp = before.rfind('#');
  if (colons != before.npos) return name.substr(colons + 2);
  if (sharp == before.npos) return name;
  return name.substr(sharp + 1);
}

std::string exact_pattern(std::string_view text) {
  std::string out = "^";
  for (const char c : text) {
    if (std::string_view("\\^$.|?*+()[]{}/").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out + "$";
}

}  // namespace filibuster::suite
