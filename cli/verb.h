// One verb of the command line (`filibuster run`). Each is declared in a file of its own; main.cc has the
// table.
#pragma once

// The last two have the virtual functions of what an App makes: what is linked without main.cc needs them as well.
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace filibuster::cli {

// What a verb's function returns, and the command's exit status (docs/man/filibuster.1).
enum ExitCode {
  kNothingFound = 0,
  kFailuresFound = 1,
  kUsage = 2,        // or a configuration that is not valid
  kEnvironment = 3,  // also: interrupted, no RPC was seen
  kTimeOver = 4,     // nothing was found before the time of --max-time was over
};

struct Invocation {
  bool has_command = false;          // "--" was given
  std::vector<std::string> command;  // the words after "--"
  std::vector<std::string> typed;    // all words, from the program's name on
};

// Does the work of a verb, after its options are parsed; returns the exit code.
using Work = std::function<int(const Invocation&)>;
struct Verb {
  const char* name;
  const char* summary;
  const char* examples;            // shown by --help
  const char* command;             // what may stand after "--", for its usage line; "": nothing may
  Work (*declare)(CLI::App& app);  // declares the options on `app`
};

extern const Verb kRunVerb, kAttachVerb, kReplayVerb, kAcceptVerb, kOpenVerb, kTraceVerb, kLintVerb,
    kSuiteVerb, kPrincipledVerb, kPropertyVerb, kPropertyClientVerb, kRecordVerb, kVerifyVerb,
    kCasesVerb, kCheckVerb, kAnalyzeVerb, kWasFaultInjectedVerb, kDoctorVerb, kInitVerb,
    kConfigVerb, kDaemonVerb, kCompletionVerb, kHelpVerb, kVersionVerb;

// Writes "filibuster: message" to stderr and returns `code`.
int complain(int code, std::string_view message);

}  // namespace filibuster::cli
