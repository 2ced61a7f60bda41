// `filibuster help [VERB]`: what --help says.
#include <CLI/App.hpp>
#include <cstdio>
#include <memory>

#include "cli/verb.h"

namespace filibuster::cli {
namespace {

Work declare_help(CLI::App& app) {
  auto verb = std::make_shared<std::string>();
  app.add_option("VERB", *verb, "of which one it says more")->type_name("");
  return [verb, &app](const Invocation&) {
    const CLI::App* const whole = app.get_parent();
    const CLI::App* asked = verb->empty() ? whole : nullptr;
    for (const CLI::App* each : whole->get_subcommands([](const CLI::App*) { return true; })) {
      if (each->get_name() == *verb) asked = each;
    }
    if (asked == nullptr)
      return complain(kUsage,
                      "there is no subcommand '" + *verb + "' (`filibuster help` lists them)");
    // Not App::help(), which says what the verb of this call does.
    const std::string text = asked->get_formatter()->make_help(
        asked, verb->empty() ? asked->get_name() : whole->get_name() + " " + *verb,
        CLI::AppFormatMode::Normal);
    std::fputs(text.c_str(), stdout);
    return static_cast<int>(kNothingFound);
  };
}

}  // namespace

const Verb kHelpVerb = {"help", "say how this command, or a subcommand, is used",
                        "  filibuster help run\n", "", declare_help};

}  // namespace filibuster::cli
