#include "daemon/config/config.h"

#include <algorithm>
#include <filesystem>

#include "core/text/nearest.h"
#include "daemon/config/redact.h"
#include "daemon/config/sections.h"

namespace filibuster {
namespace config {
namespace {

using Kind = SourceNode::Kind;

struct TestDraft {
  Draft* draft;
  TestConfig test;
  SuiteConfig suite;
  bool is_suite = false;
  bool has_name = false, has_command = false;
};

void read_suite_text(Reader& reader, const SourceNode& node, const char* name, TestDraft* out,
                     std::string* text) {
  out->is_suite = true;
  const auto read = reader.text(node, std::string("'") + name + "'");
  if (!read) return;
  if (read->empty()) reader.error(node.offset, std::string("'") + name + "' is empty");
  *text = *read;
}

constexpr Key<TestDraft> kTestKeys[] = {
    {"name", false,
     [](Reader& reader, const SourceNode& node, TestDraft* out) {
       out->has_name = true;
       const auto name = reader.text(node, "'name'");
       if (!name) return;
       if (name->empty() || name->size() > 200) {
         reader.error(node.offset, "'name': expected 1 to 200 bytes");
       }
       out->test.name = *name;
     }},
    {"command", false,
     [](Reader& reader, const SourceNode& node, TestDraft* out) {
       out->has_command = true;
       read_command(reader, node, "'command'", out->draft, &out->test.command);
     }},
    {"runner", false,
     [](Reader& reader, const SourceNode& node, TestDraft* out) {
       read_suite_text(reader, node, "runner", out, &out->suite.runner);
       if (!out->suite.runner.empty() && suite::find_runner(out->suite.runner) == nullptr) {
         reader.error(node.offset, "'runner': '" + out->suite.runner + "' is not known: expected " +
                                       suite::runner_names() + ", or 'list' and 'each' instead");
       }
     }},
    {"program", false,
     [](Reader& reader, const SourceNode& node, TestDraft* out) {
       read_suite_text(reader, node, "program", out, &out->suite.program);
     }},
    {"path", false,
     [](Reader& reader, const SourceNode& node, TestDraft* out) {
       read_suite_text(reader, node, "path", out, &out->suite.path);
     }},
    {"list", false,
     [](Reader& reader, const SourceNode& node, TestDraft* out) {
       out->is_suite = true;
       read_command(reader, node, "'list'", out->draft, &out->suite.list);
     }},
    {"each", false,
     [](Reader& reader, const SourceNode& node, TestDraft* out) {
       out->is_suite = true;
       read_command(reader, node, "'each'", out->draft, &out->suite.each);
     }},
    {"env", false,
     [](Reader& reader, const SourceNode& node, TestDraft* out) {
       read_environment(reader, node, out->draft, &out->test.env);
     }},
    {"directory", false,
     [](Reader& reader, const SourceNode& node, TestDraft* out) {
       read_directory(reader, node, *out->draft, &out->test.directory);
     }},
    {"principled", false,
     [](Reader& reader, const SourceNode& node, TestDraft* out) {
       read_principled(reader, node, out->draft, &out->test.principled);
     }},
    {"property", false,
     [](Reader& reader, const SourceNode& node, TestDraft* out) {
       read_property(reader, node, out->draft, &out->test.property);
     }},
    {"timeout", false,
     [](Reader& reader, const SourceNode& node, TestDraft* out) {
       out->test.timeout = reader.duration(node, "'timeout'");
     }},
};

void check_test(Reader& reader, const SourceNode& node, const TestDraft& test) {
  const SuiteConfig& suite = test.suite;
  if (!test.is_suite) {
    if (!test.has_name) reader.error(node.offset, "a test needs 'name'");
    const bool has_blocks = test.test.principled && !test.test.principled->in_program;
    if (test.test.property && (test.has_command || test.test.principled))
      reader.error(node.offset, "a test with 'property' has no 'command' and no 'principled'");
    if (!test.has_command && !has_blocks && !test.test.property)
      reader.error(node.offset, "a test needs 'command'");
    if (test.has_command && has_blocks)
      reader.error(
          node.offset,
          "a test whose blocks stand in 'principled' has no 'command'; \"principled\": true says that the blocks are in "
          "the program of its command");
    return;
  }
  if (test.test.principled)
    reader.error(node.offset, "'principled' is for one test, and not for a suite");
  if (test.test.property)
    reader.error(node.offset, "'property' is for one test, and not for a suite");
  if (test.has_command)
    reader.error(
        node.offset,
        "'command' runs one test: a suite has 'runner', or 'list' and 'each', instead of it");
  const bool by_hand = !suite.list.empty() || !suite.each.empty();
  if (suite.runner.empty() == !by_hand) {
    reader.error(node.offset, "a suite needs either 'runner', or 'list' and 'each'");
  } else if (by_hand && (suite.list.empty() || suite.each.empty())) {
    reader.error(node.offset, std::string("a suite with '") +
                                  (suite.list.empty() ? "each" : "list") + "' needs '" +
                                  (suite.list.empty() ? "list" : "each") + "', too");
  } else if (by_hand && (!suite.program.empty() || !suite.path.empty())) {
    reader.error(node.offset, "'program' and 'path' are for a 'runner'");
  } else if (suite.runner == "gtest" && suite.path.empty()) {
    reader.error(node.offset, "a suite of gtest needs 'path', its program");
  } else if (suite.runner == "junit" && suite.path.empty()) {
    reader.error(
        node.offset,
        "a suite of junit needs 'path', the folder or jar of its classes (on the class path)");
  }
}

void read_tests(Reader& reader, const SourceNode& node, Draft* draft) {
  if (!reader.expect(node, Kind::kArray, "'tests'")) return;
  if (node.children.empty()) reader.error(node.offset, "'tests' is empty: name at least one test");
  for (const SourceNode& child : node.children) {
    TestDraft test{.draft = draft, .test = {}, .suite = {}};
    if (!read_object<TestDraft>(reader, child, "a test", kTestKeys, &test)) continue;
    check_test(reader, child, test);
    if (test.is_suite) test.test.suite = std::move(test.suite);
    const auto same = [&](const TestConfig& other) { return other.name == test.test.name; };
    if (!test.test.name.empty() &&
        std::any_of(draft->config.tests.begin(), draft->config.tests.end(), same)) {
      reader.error(child.offset, "two tests are named '" + test.test.name + "'");
      continue;
    }
    draft->config.tests.push_back(std::move(test.test));
  }
}

void read_descriptor_file(Reader& reader, const SourceNode& node, Draft* draft) {
  const auto text = reader.text(node, "a file of 'descriptors'");
  if (!text) return;
  if (text->empty()) {
    reader.error(node.offset, "a file of 'descriptors' is empty");
    return;
  }
  const SourcePosition place = reader.place_of(node);
  const std::filesystem::path path = std::filesystem::path(draft->config.directory) / *text;
  draft->config.descriptors.push_back({path.lexically_normal().string(), place.line, place.column});
}

void read_descriptors(Reader& reader, const SourceNode& node, Draft* draft) {
  if (node.kind != Kind::kArray) {  // one file needs no brackets
    read_descriptor_file(reader, node, draft);
    return;
  }
  for (const SourceNode& child : node.children) read_descriptor_file(reader, child, draft);
}

constexpr Key<Draft> kHookKeys[] = {
    {"before_execution", false,
     [](Reader& reader, const SourceNode& node, Draft* out) {
       read_command(reader, node, "'before_execution'", out, &out->config.hooks.before_execution);
     }},
    {"after_execution", false,
     [](Reader& reader, const SourceNode& node, Draft* out) {
       read_command(reader, node, "'after_execution'", out, &out->config.hooks.after_execution);
     }},
};

constexpr Key<Draft> kBoundKeys[] = {
    {"max_executions", false,
     [](Reader& reader, const SourceNode& node, Draft* out) {
       if (const auto n = reader.integer(node, "'max_executions'", 0, int64_t{1} << 40)) {
         out->config.bounds.max_executions = static_cast<uint64_t>(*n);
       }
     }},
    {"max_faults", false,
     [](Reader& reader, const SourceNode& node, Draft* out) {
       if (const auto n = reader.integer(node, "'max_faults'", 0, 1024)) {
         out->config.bounds.max_faults = static_cast<uint32_t>(*n);
       }
     }},
    {"quiesce_timeout", false,
     [](Reader& reader, const SourceNode& node, Draft* out) {
       if (const auto time = reader.duration(node, "'quiesce_timeout'")) {
         out->config.bounds.quiesce_timeout = *time;
       }
     }},
    {"hang_limit", false,
     [](Reader& reader, const SourceNode& node, Draft* out) {
       out->config.bounds.hang_limit = reader.duration(node, "'hang_limit'");
     }},
    {"test_timeout", false,
     [](Reader& reader, const SourceNode& node, Draft* out) {
       out->config.bounds.test_timeout = reader.duration(node, "'test_timeout'");
     }},
    {"reference_executions", false,
     [](Reader& reader, const SourceNode& node, Draft* out) {
       if (const auto n = reader.integer(node, "'reference_executions'", 1, 100)) {
         out->config.bounds.reference_executions = static_cast<uint32_t>(*n);
       }
     }},
    {"max_time", false,
     [](Reader& reader, const SourceNode& node, Draft* out) {
       if (const auto time = reader.duration(node, "'max_time'"))
         out->config.bounds.max_time = *time;
     }},
    {"stop_at_first", false,
     [](Reader& reader, const SourceNode& node, Draft* out) {
       if (const auto on = reader.flag(node, "'stop_at_first'"))
         out->config.bounds.stop_at_first = *on;
     }},
};

template <uint32_t part>
void read_part(Reader& reader, const SourceNode& node, Draft* out) {
  const auto on = reader.flag(node, "'" + node.key + "'");
  if (on && !*on) out->config.index_parts &= ~part;
}
constexpr Key<Draft> kIndexKeys[] = {
    {"payload", false, read_part<kIndexPayload>},
    {"stack", false, read_part<kIndexStack>},
    {"count", false, read_part<kIndexCount>},
    {"path", false, read_part<kIndexPath>},
    {"frames", false, read_frames},
};

template <bool Config::*member>
void read_switch(Reader& reader, const SourceNode& node, Draft* out) {
  if (const auto on = reader.flag(node, "'" + node.key + "'")) out->config.*member = *on;
}

constexpr std::string_view kReductions[] = {"sound", "published", "off"};  // indexed by Reduction

void read_reduce(Reader& reader, const SourceNode& node, Draft* out) {
  if (node.kind == Kind::kBool) {  // an older form: there was only one reduction
    out->config.reduce = node.flag ? Reduction::kSound : Reduction::kOff;
  } else if (const auto at = reader.word(node, "'reduce'", kReductions)) {
    out->config.reduce = static_cast<Reduction>(*at);
  }
}

void read_snapshots(Reader& reader, const SourceNode& node, Draft* out) {
  if (const auto flag = reader.flag(node, "'snapshots'"))
    out->config.snapshots = *flag ? Snapshots::kAlways : Snapshots::kNever;
}

constexpr Key<Draft> kKeys[] = {
    {"version", true,
     [](Reader& reader, const SourceNode& node, Draft*) {
       if (node.kind != Kind::kInteger || node.integer != 1) {
         reader.error(node.offset, "'version': expected 1, the only version there is");
       }
     }},
    {"services", false, read_services},
    {"tests", true, read_tests},
    {"faults", false, read_faults},
    {"retries", false, read_retries},
    {"nondeterminism", false, read_nondeterminism},
    {"redact", false,
     [](Reader& reader, const SourceNode& node, Draft* out) {
       read_redact(reader, node, &out->config.redact);
     }},
    {"keep_draws", false,
     [](Reader& reader, const SourceNode& node, Draft* out) {
       if (!reader.expect(node, Kind::kArray, "'keep_draws'")) return;
       for (const SourceNode& each : node.children) {
         const auto text = reader.text(each, "an element of 'keep_draws'");
         if (text && text->empty())
           reader.error(
               each.offset,
               "'keep_draws': expected a function, such as \"orders.py new_id\" or \"*new_id\"");
         out->config.keep_draws.push_back(text.value_or("*"));
       }
     }},
    {"default_faults", false, read_switch<&Config::default_faults>},
    {"fault_test_calls", false, read_switch<&Config::fault_test_calls>},
    {"descriptors", false, read_descriptors},
    {"reflection", false, read_switch<&Config::reflection>},
    {"hooks", false,
     [](Reader& reader, const SourceNode& node, Draft* out) {
       read_object<Draft>(reader, node, "'hooks'", kHookKeys, out);
     }},
    {"bounds", false,
     [](Reader& reader, const SourceNode& node, Draft* out) {
       read_object<Draft>(reader, node, "'bounds'", kBoundKeys, out);
     }},
    {"baseline", false,
     [](Reader& reader, const SourceNode& node, Draft* out) {
       const auto text = reader.text(node, "'baseline'");
       if (!text) return;
       if (text->empty()) reader.error(node.offset, "'baseline': expected the path of a file");
       const std::filesystem::path path = std::filesystem::path(out->config.directory) / *text;
       out->config.baseline = path.lexically_normal().string();
     }},
    {"index", false,
     [](Reader& reader, const SourceNode& node, Draft* out) {
       read_object<Draft>(reader, node, "'index'", kIndexKeys, out);
     }},
    {"reduce", false, read_reduce},
    {"fast_timeouts", false, read_switch<&Config::fast_timeouts>},
    {"snapshots", false, read_snapshots},
    {"resets", false, read_switch<&Config::resets>},
    // Names the schema for editors, docs/filibuster.schema.json.
    {"$schema", false, [](Reader&, const SourceNode&, Draft*) {}},
};

void check_port_uses(Reader& reader, const Draft& draft) {
  std::vector<std::string_view> known;
  for (const ServiceConfig& service : draft.config.services) {
    for (const auto& [name, number] : service.ports) known.push_back(name);
  }
  for (const PortUse& use : draft.port_uses) {
    if (std::find(known.begin(), known.end(), use.name) != known.end()) continue;
    const std::string_view near = nearest(use.name, known);
    std::string message = "unknown port '" + use.name + "'";
    if (!near.empty()) {
      message += "; did you mean '${port:" + std::string(near) + "}'?";
    } else {
      message += known.empty() ? "; no service has a port" : "; known are " + list_of(known);
    }
    reader.error(use.offset, std::move(message));
  }
}

}  // namespace
}  // namespace config

bool Config::has_hosts() const {
  return std::any_of(services.begin(), services.end(),
                     [](const ServiceConfig& service) { return !service.hosts.empty(); });
}

std::string_view reduction_name(Reduction reduction) {
  return config::kReductions[static_cast<size_t>(reduction)];
}

std::string reduction_names() {
  return config::list_of(config::kReductions);
}

std::optional<Reduction> parse_reduction(std::string_view name) {
  const auto* found =
      std::find(std::begin(config::kReductions), std::end(config::kReductions), name);
  if (found == std::end(config::kReductions)) return std::nullopt;
  return static_cast<Reduction>(found - std::begin(config::kReductions));
}

Result<std::chrono::milliseconds> parse_duration_text(const std::string& text) {
  SourceNode node;
  node.kind = SourceNode::Kind::kString;
  node.text = text;
  config::Reader reader(text, "");
  if (const auto time = reader.duration(node, "'" + text + "'")) return *time;
  return Error{std::move(reader).take().front().message};
}

ParsedConfig parse_config(const std::string& text, const std::string& path,
                          const std::string& directory) {
  config::Draft draft;
  draft.config.path = path;
  draft.config.directory = directory;
  config::Reader reader(text, path);
  const SourceTree tree = parse_source(text);
  if (tree.error) {
    reader.error(tree.error->offset, tree.error->message);
  } else {
    config::read_object<config::Draft>(reader, tree.root, "the configuration", config::kKeys,
                                       &draft);
    config::check_port_uses(reader, draft);
  }
  std::vector<ConfigError> errors = std::move(reader).take();
  std::move(draft.errors_elsewhere.begin(), draft.errors_elsewhere.end(),
            std::back_inserter(errors));
  return {std::move(draft.config), std::move(errors)};
}

}  // namespace filibuster
