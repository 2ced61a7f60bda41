#include "daemon/verbs/replay/request.h"

#include <chrono>
#include <filesystem>

#include "core/text/json_depth.h"
#include "daemon/model/counterexample.h"
#include "daemon/process/session_lane.h"
#include "daemon/redact/config_secrets.h"
#include "daemon/report/counterexample_json.h"
#include "daemon/verbs/property/request.h"
#include "daemon/verbs/replay/replayed_commands.h"

namespace filibuster {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

constexpr uintmax_t kLargestConfig = 16 << 20;  // bytes

// Reads a configuration that a counterexample names. A counterexample from somebody else may name a
// device or a pipe, which could be read without end: only regular files are read.
Result<std::string> read_named_config(const std::string& path) {
  std::error_code failed;
  if (!fs::is_regular_file(path, failed)) return Error{path + " is not a regular file"};
  const uintmax_t size = fs::file_size(path, failed);
  if (failed || size == 0 || size > kLargestConfig)
    return Error{path + " is empty, or larger than a configuration can be"};
  return read_file(path);
}

// A counterexample leaves secrets out. They are taken from the configuration's file.
void restore_secrets(RequestDraft* draft) {
  // The path is relative to where the exploration was started. The directory is the folder of the file.
  const auto name = fs::path(draft->path).filename();
  const std::string file = (fs::path(draft->directory) / name).string();
  const auto now = draft->path.empty() ? Result<std::string>("") : read_named_config(file);
  RestoredConfig restored = restore_config(draft->text, now.ok() ? now.value() : "");
  draft->text = std::move(restored.text);
  for (const std::string& what : restored.missing) {
    const std::string why =
        draft->path.empty()
            ? std::string(
                  "its exploration had no configuration file to take it from: write "
                  "one, or name a variable of the environment in the command ($TOKEN)")
        : now.ok()
            ? file + " has nothing that fits: put it there" +
                  std::string(
                      what.starts_with("variable") ? ", or into the environment of the replay" : "")
            : file + " cannot be read, and its value would be taken from there: put that file back";
    draft->fail("the counterexample leaves out " + what + ", which holds a secret, and " + why);
  }
}

// A counterexample that does not lie in this ROOT may execute only what the user's own configuration
// names, unless the request says `trusted`.
void check_that_it_is_allowed(const Json& request, const std::string& test, RequestDraft* draft) {
  if (request.value("trusted", false)) return;
  const std::string file = request.value("own_config", "");
  const auto own = file.empty() ? Result<std::string>("") : read_file(file);
  const auto unnamed = unnamed_commands(draft->text, test, own.ok() ? own.value() : "");
  if (unnamed.empty()) return;
  std::string message =
      file.empty()
          ? "the counterexample does not lie in the root of this session, and no configuration of "
            "yours at, above or below this directory has the commands that it executes"
          : "the counterexample does not lie in the root of this session, and executes commands that " +
                file + " does not have";
  message += ". Read them, and add --trust to execute them:";
  for (const std::string& what : unnamed) message += "\n  " + what;
  draft->fail(message);
}

class ReplayVerb final : public Verb {
 public:
  ReplayVerb() : Verb("replay", {}) {}

  void begin(const Json& json, RequestDraft* draft) const override {
    const auto parsed = parse_counterexample(json.value("counterexample", Json::object()).dump());
    if (!parsed) return draft->fail(parsed.error().message);
    const Counterexample& example = parsed.value();
    auto own = std::make_shared<ReplayRequest>();
    own->faults = example.faults;
    own->found_as = example.verdict;
    own->index_parts = example.index_parts;
    own->hang_limit_ms = example.hang_limit_ms;
    if (draft->text.empty()) draft->text = example.config_text;
    if (draft->path.empty()) draft->path = example.config_path;
    if (draft->directory.empty()) draft->directory = example.directory;
    if (is_nested_too_deep(draft->text))
      return draft->fail("counterexample: its config_text is nested too deep");
    restore_secrets(draft);
    if (draft->errors.empty()) check_that_it_is_allowed(json, example.test, draft);
    if (!draft->errors.empty()) return;
    draft->tests = {example.test};
    draft->request.learnt_descriptors = example.descriptors;
    draft->request.ports = example.ports;
    if (!example.property.empty()) return replay_program(example.property, draft);
    if (!example.nondeterminism.empty()) {
      auto masks = parse_nondeterminism(example.nondeterminism, true);
      if (!masks) return draft->fail("counterexample: " + masks.error().message);
      own->nondeterminism = std::move(masks).value();
    }
    draft->request.own = std::move(own);
  }

  void configure(RequestDraft* draft) const override {
    const auto& own = draft->request.own_as<ReplayRequest>();
    Config& config = draft->request.config;
    config.index_parts = own.index_parts;
    // A replay has no execution without faults, from whose length the limit would follow.
    auto& limit = config.bounds.hang_limit;
    if (!limit && own.hang_limit_ms != 0) limit = std::chrono::milliseconds(own.hang_limit_ms);
    if (own.nondeterminism) config.nondeterminism = *own.nondeterminism;
  }

  std::unique_ptr<Mode> make(const SessionRequest& request) const override {
    return make_replay_mode(request);
  }
};

}  // namespace

const Verb& replay_verb() {
  static const ReplayVerb verb;
  return verb;
}

}  // namespace filibuster
