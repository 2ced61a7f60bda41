// `principled` of a test: its blocks as commands, and what it states as data (daemon/principled/).
#include <filesystem>
#include <nlohmann/json.hpp>

#include "daemon/config/sections.h"
#include "daemon/principled/key.h"

namespace filibuster::config {
namespace {

using Kind = SourceNode::Kind;
using Json = nlohmann::json;

struct PrincipledDraft {
  Draft* draft;
  PrincipledConfig config;
  bool has_execute = false;
};

std::string place_of(Reader& reader, const SourceNode& node, const Draft& draft) {
  const std::string name = std::filesystem::path(draft.config.path).filename().string();
  return (name.empty() ? "the configuration" : name) + ":" + std::to_string(reader.line_of(node));
}

std::optional<Json> read_key(Reader& reader, const SourceNode& node) {
  Json json = json_of(node);
  const auto key = principled::read_key(json);
  if (key) return json;
  reader.error(node.offset, key.error().message);
  return std::nullopt;
}

// `on`: a key, or an array of them.
void read_keys(Reader& reader, const SourceNode& node, Json* out) {
  *out = Json::array();
  if (node.kind != Kind::kArray) {
    if (auto key = read_key(reader, node)) out->push_back(std::move(*key));
    return;
  }
  if (node.children.empty()) reader.error(node.offset, "'on': it names no call");
  for (const SourceNode& child : node.children) {
    if (auto key = read_key(reader, child)) out->push_back(std::move(*key));
  }
}

// {"on": KEY, "times": 1}, or {"on": KEY, "read_only": true}.
struct CountDraft {
  Json key, times;
  bool read_only = false;
};
constexpr Key<CountDraft> kCountKeys[] = {
    {"on", true,
     [](Reader& reader, const SourceNode& node, CountDraft* out) {
       if (auto key = read_key(reader, node)) out->key = std::move(*key);
     }},
    {"times", false,
     [](Reader&, const SourceNode& node, CountDraft* out) { out->times = json_of(node); }},
    {"read_only", false,
     [](Reader& reader, const SourceNode& node, CountDraft* out) {
       out->read_only = reader.flag(node, "'read_only'").value_or(false);
     }},
};

void read_counts(Reader& reader, const SourceNode& node, const char* api, const Draft& draft,
                 std::vector<Json>* out) {
  if (!reader.expect(node, Kind::kArray, "'" + node.key + "'")) return;
  for (const SourceNode& child : node.children) {
    CountDraft count;
    if (!read_object<CountDraft>(reader, child, "a count", kCountKeys, &count)) continue;
    if (count.read_only && !count.times.is_null())
      reader.error(child.offset, "what is read-only has no 'times'");
    Json statement = {{"api", count.read_only ? "read_only_rpc" : api},
                      {"at", place_of(reader, child, draft)},
                      {"key", std::move(count.key)}};
    // A count that is not exact is a diagnostic of the test, and named with its line there.
    if (!count.read_only) statement["times"] = std::move(count.times);
    out->push_back(std::move(statement));
  }
}

// One row of `failure`.
struct FailureDraft {
  PrincipledDraft* test;
  Json keys;
  const SourceNode* on = nullptr;
  const SourceNode* on_exception = nullptr;
  const SourceNode* throws = nullptr;
  const SourceNode* message = nullptr;
  bool propagates = false, no_impact = false;
  const SourceNode* assertions = nullptr;
  PrincipledConfig::Assertions block;
  bool has_block = false;
};

void read_read_only(Reader& reader, const SourceNode& node, FailureDraft* out) {
  out->has_block = true;
  if (!reader.expect(node, Kind::kArray, "'read_only'")) return;
  for (const SourceNode& child : node.children) {
    auto key = read_key(reader, child);
    if (!key) continue;
    out->block.statements.push_back({{"api", "read_only_rpc"},
                                     {"at", place_of(reader, child, *out->test->draft)},
                                     {"key", std::move(*key)}});
  }
}

constexpr Key<FailureDraft> kFailureKeys[] = {
    {"on", false,
     [](Reader& reader, const SourceNode& node, FailureDraft* out) {
       out->on = &node;
       read_keys(reader, node, &out->keys);
     }},
    {"on_exception", false,
     [](Reader&, const SourceNode& node, FailureDraft* out) { out->on_exception = &node; }},
    {"throws", false,
     [](Reader&, const SourceNode& node, FailureDraft* out) { out->throws = &node; }},
    {"message", false,
     [](Reader& reader, const SourceNode& node, FailureDraft* out) {
       if (reader.expect(node, Kind::kString, "'message'")) out->message = &node;
     }},
    {"propagates", false,
     [](Reader& reader, const SourceNode& node, FailureDraft* out) {
       out->propagates = reader.flag(node, "'propagates'").value_or(false);
     }},
    {"no_impact", false,
     [](Reader& reader, const SourceNode& node, FailureDraft* out) {
       out->no_impact = reader.flag(node, "'no_impact'").value_or(false);
     }},
    {"assert", false,
     [](Reader& reader, const SourceNode& node, FailureDraft* out) {
       out->assertions = &node;
       out->has_block = true;
       read_command(reader, node, "'assert'", out->test->draft, &out->block.command);
     }},
    {"read_only", false, read_read_only},
    {"side_effecting", false,
     [](Reader& reader, const SourceNode& node, FailureDraft* out) {
       out->has_block = true;
       read_counts(reader, node, "side_effecting_rpc", *out->test->draft, &out->block.statements);
     }},
};

void add_statement(Reader& reader, const SourceNode& node, FailureDraft* row) {
  const int kinds = (row->throws != nullptr ? 1 : 0) + (row->propagates ? 1 : 0) +
                    (row->no_impact ? 1 : 0) + (row->has_block ? 1 : 0);
  if ((row->on == nullptr) == (row->on_exception == nullptr))
    return reader.error(node.offset, "a row of 'failure' has either 'on' or 'on_exception'");
  if (row->on_exception != nullptr && (!row->has_block || kinds != 1))
    return reader.error(node.offset,
                        "'on_exception' has 'assert', 'read_only' and 'side_effecting'");
  if (kinds != 1)
    return reader.error(
        node.offset,
        "a row of 'failure' says one thing: 'throws', 'propagates', 'no_impact', or 'assert'");
  if (row->message != nullptr && row->throws == nullptr)
    return reader.error(row->message->key_offset, "'message' belongs to 'throws'");
  Json statement = {{"at", place_of(reader, node, *row->test->draft)}};
  PrincipledConfig& config = row->test->config;
  if (row->has_block) {
    statement["specification"] = config.assertions.size();
    config.assertions.push_back(std::move(row->block));
  }
  if (row->on_exception != nullptr) {
    statement["api"] = "assert_on_exception";
    statement["code"] = json_of(*row->on_exception);
  } else {
    statement["api"] = row->throws != nullptr ? "assert_fault_throws"
                       : row->propagates      ? "assert_fault_propagates"
                       : row->no_impact       ? "assert_fault_has_no_impact"
                                              : "assert_on_fault";
    statement["keys"] = std::move(row->keys);
    if (row->throws != nullptr) statement["code"] = json_of(*row->throws);
    if (row->message != nullptr) statement["message"] = row->message->text;
  }
  config.failure.push_back(std::move(statement));
}

void read_failure(Reader& reader, const SourceNode& node, PrincipledDraft* out) {
  if (!reader.expect(node, Kind::kArray, "'failure'")) return;
  for (const SourceNode& child : node.children) {
    FailureDraft row{.test = out, .keys = {}, .block = {}};
    if (read_object<FailureDraft>(reader, child, "a row of 'failure'", kFailureKeys, &row))
      add_statement(reader, child, &row);
  }
}

// {"users": [STUB, ...]}: beside the stubs of the service itself.
void read_stubs_of_test(Reader& reader, const SourceNode& node, PrincipledDraft* out) {
  if (!reader.expect(node, Kind::kObject, "'stubs'")) return;
  for (const SourceNode& service : node.children) {
    if (!reader.expect(service, Kind::kArray, "the stubs of '" + service.key + "'")) continue;
    for (const SourceNode& stub : service.children) {
      out->config.stubs.push_back({{"api", "stub_for"},
                                   {"at", place_of(reader, stub, *out->draft)},
                                   {"service", service.key},
                                   {"stub", json_of(stub)}});
    }
  }
}

template <Command PrincipledConfig::*member>
void read_block(Reader& reader, const SourceNode& node, PrincipledDraft* out) {
  read_command(reader, node, "'" + node.key + "'", out->draft, &(out->config.*member));
}

constexpr Key<PrincipledDraft> kPrincipledKeys[] = {
    {"setup", false, read_block<&PrincipledConfig::setup>},
    {"stubs", false, read_stubs_of_test},
    {"failure", false, read_failure},
    {"execute", true, read_block<&PrincipledConfig::execute>},
    {"assert_test", false, read_block<&PrincipledConfig::assert_test>},
    {"assert_stubs", false,
     [](Reader& reader, const SourceNode& node, PrincipledDraft* out) {
       read_counts(reader, node, "verify_that", *out->draft, &out->config.assert_stubs);
     }},
    {"teardown", false, read_block<&PrincipledConfig::teardown>},
};

}  // namespace

void read_principled(Reader& reader, const SourceNode& node, Draft* draft,
                     std::optional<PrincipledConfig>* out) {
  if (node.kind == Kind::kBool) {
    if (!node.flag) return;
    out->emplace();
    (*out)->in_program = true;
    return;
  }
  PrincipledDraft test{.draft = draft, .config = {}};
  if (read_object<PrincipledDraft>(reader, node, "'principled'", kPrincipledKeys, &test))
    *out = std::move(test.config);
}

}  // namespace filibuster::config
