// The command people type. Each verb has its own file; this file has the table of verbs.
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <csignal>
#include <exception>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/verb.h"
#include "core/text/nearest.h"
#include "daemon/base/own_files.h"
#include "daemon/base/standard_descriptors.h"

namespace filibuster::cli {
namespace {

constexpr const char kFind[] = "Find what fails", kLook[] = "Look at calls", kSetUp[] = "Set up";
// Of no group are verbs that the daemon starts: --help leaves them out.
constexpr const char kOwn[] = "";
// As --help lists them: the verbs of one group stand together.
struct VerbRow {
  const Verb* verb;
  const char* group;
};
constexpr VerbRow kVerbs[] = {{&kRunVerb, kFind},         {&kSuiteVerb, kFind},
                              {&kPrincipledVerb, kFind},  {&kPropertyVerb, kFind},
                              {&kVerifyVerb, kFind},      {&kAttachVerb, kFind},
                              {&kReplayVerb, kFind},      {&kAcceptVerb, kFind},
                              {&kOpenVerb, kFind},        {&kWasFaultInjectedVerb, kFind},
                              {&kCheckVerb, kLook},       {&kRecordVerb, kLook},
                              {&kCasesVerb, kLook},       {&kTraceVerb, kLook},
                              {&kLintVerb, kLook},        {&kDoctorVerb, kSetUp},
                              {&kAnalyzeVerb, kSetUp},    {&kInitVerb, kSetUp},
                              {&kConfigVerb, kSetUp},     {&kDaemonVerb, kSetUp},
                              {&kCompletionVerb, kSetUp}, {&kHelpVerb, kSetUp},
                              {&kVersionVerb, kSetUp},    {&kPropertyClientVerb, kOwn}};

// "there is no subcommand 'foo' ..." if the first word after any options is no verb; else "".
std::string unknown_verb(const std::vector<std::string>& own) {
  const auto word = std::find_if(own.begin(), own.end(),
                                 [](const std::string& text) { return !text.starts_with("-"); });
  if (word == own.end()) return "";
  std::vector<std::string_view> names;
  for (const VerbRow& row : kVerbs) {
    if (row.verb->name == *word) return "";
    if (row.group != kOwn) names.emplace_back(row.verb->name);
  }
  std::string text = "there is no subcommand '" + *word + "'";
  if (const std::string_view near = nearest(*word, names); !near.empty())
    return text + "; did you mean '" + std::string(near) + "'?";
  text += "; expected";
  for (size_t i = 0; i < names.size(); ++i)
    text += (i == 0 ? " " : i + 1 == names.size() ? " or " : ", ") + std::string(names[i]);
  return text;
}

// CLI11 does not know of "--", so this adds what may stand after it to the usage line of a verb.
class HelpText : public CLI::Formatter {
 public:
  explicit HelpText(const char* command) : command_(command) {}
  std::string make_usage(const CLI::App* app, std::string name) const override {
    std::string usage = CLI::Formatter::make_usage(app, std::move(name));
    if (command_.empty()) return usage;
    while (usage.ends_with("\n")) usage.pop_back();
    return usage + " " + command_ + "\n";
  }

 private:
  std::string command_;
};

int run(int argc, char** argv) {
  // What stands behind the first "--" is the command line of another program, and is not parsed.
  std::vector<std::string> own;
  Invocation invocation;
  invocation.typed.assign(argv, argv + argc);
  for (int i = 1; i < argc; ++i) {
    if (invocation.has_command) {
      invocation.command.emplace_back(argv[i]);
    } else if (std::string_view(argv[i]) == "--") {
      invocation.has_command = true;
    } else {
      own.emplace_back(argv[i]);
    }
  }

  // This comes before CLI11 parses, which takes `filibuster foo --help` for a request for help.
  if (const std::string problem = unknown_verb(own); !problem.empty()) {
    complain(kUsage, problem);
    std::cerr << "(`filibuster --help` shows how it is used)\n";
    return kUsage;
  }

  CLI::App app("Fault injection, exhaustively, on microservices as they are.", "filibuster");
  app.require_subcommand(1);
  app.footer("\n`filibuster VERB --help` shows the options and an example of each.");
  bool version = false;
  app.add_flag("--version", version, "print the version");
  std::map<const CLI::App*, std::pair<const Verb*, Work>> verbs;
  for (const auto& [verb, group] : kVerbs) {
    CLI::App* sub = app.add_subcommand(verb->name, verb->summary)->group(group);
    sub->formatter(std::make_shared<HelpText>(verb->command));
    if (verb->examples[0] != '\0') sub->footer(std::string("\nExamples:\n") + verb->examples);
    verbs.emplace(sub, std::pair(verb, verb->declare(*sub)));
  }
  if (own.size() == 1 && own[0] == "--version") own = {"version"};

  try {
    std::vector<std::string> reversed(own.rbegin(), own.rend());  // as App::parse wants them
    app.parse(reversed);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error, std::cout, std::cerr);  // --help
    std::cerr << "filibuster: " << error.what() << "\n";
    const auto parsed = app.get_subcommands();
    std::cerr << "(`filibuster " << (parsed.empty() ? "" : parsed[0]->get_name() + " ")
              << "--help` shows how it is used)\n";
    return kUsage;
  }
  const auto& [verb, work] = verbs.at(app.get_subcommands().at(0));
  if (invocation.has_command && verb->command[0] == '\0') {
    return complain(kUsage, std::string("'") + verb->name + "' takes no command after '--'");
  }
  return work(invocation);
}

}  // namespace
}  // namespace filibuster::cli

int main(int argc, char** argv) {
  filibuster::open_standard_descriptors();
  filibuster::take_name("filibuster");
  // If the reader of our output goes away (`| head`), the write fails and does not end the process.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // the same for a file that may not grow
  try {
    return filibuster::cli::run(argc, argv);
  } catch (const std::exception& error) {
    return filibuster::cli::complain(filibuster::cli::kEnvironment, error.what());
  }
}
