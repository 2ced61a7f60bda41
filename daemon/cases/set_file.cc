#include "daemon/cases/set_file.h"

#include <utility>

#include "daemon/cases/case_parts.h"
#include "daemon/cases/file_text.h"
#include "daemon/cases/sealed_reader.h"
#include "daemon/config/redact.h"
#include "daemon/config/sections.h"

namespace filibuster::cases {
namespace {

using config::Key;
using config::Reader;
using wire::JsonNode;

constexpr int64_t kMostCount = int64_t{1} << 53;

// Reads each element of a list by `read`.
template <typename Read>
void each_element(Reader& reader, const SourceNode& node, Read read) {
  if (!reader.expect(node, SourceNode::Kind::kArray, "'" + node.key + "'")) return;
  for (const SourceNode& each : node.children) read(each);
}

void read_texts(Reader& reader, const SourceNode& node, std::vector<std::string>* out) {
  each_element(reader, node, [&](const SourceNode& each) {
    if (auto text = reader.text(each, "an element of '" + node.key + "'"))
      out->push_back(std::move(*text));
  });
}

// Names of header fields, which are compared in lower case.
void read_names(Reader& reader, const SourceNode& node, std::vector<std::string>* out) {
  read_texts(reader, node, out);
  for (const std::string& name : *out) {
    if (name.find_first_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ") != std::string::npos)
      reader.error(node.offset, "'" + node.key + "': names stand in lower case");
  }
}

constexpr Key<Build> kBuildKeys[] = {
    {"program", true,
     [](Reader& reader, const SourceNode& node, Build* out) {
       out->program = reader.text(node, "'program'").value_or("");
     }},
    {"id", true,
     [](Reader& reader, const SourceNode& node, Build* out) {
       out->id = read_plain_name(reader, node, "'id'");
     }},
};

constexpr Key<Point> kPointKeys[] = {
    {"site", true,
     [](Reader& reader, const SourceNode& node, Point* out) {
       out->site = read_plain_name(reader, node, "'site'");
     }},
    {"kind", true,
     [](Reader& reader, const SourceNode& node, Point* out) {
       constexpr std::string_view kWords[] = {"http", "redis"};
       if (const auto word = reader.word(node, "'kind'", kWords))
         out->kind = *word == 0 ? Kind::kHttp : Kind::kRedis;
     }},
    {"stack", true,
     [](Reader& reader, const SourceNode& node, Point* out) {
       read_texts(reader, node, &out->stack);
     }},
};

constexpr std::string_view kEffects[] = {"unknown", "some", "none", "unfit"};

std::optional<uint64_t> read_count(Reader& reader, const SourceNode& node) {
  const auto count = reader.integer(node, "'" + node.key + "'", 0, kMostCount);
  return count ? std::optional(static_cast<uint64_t>(*count)) : std::nullopt;
}

constexpr Key<DrawPoint> kDrawPointKeys[] = {
    {"from", true,
     [](Reader& reader, const SourceNode& node, DrawPoint* out) {
       out->source = reader.text(node, "'from'").value_or("");
     }},
    {"site", false,
     [](Reader& reader, const SourceNode& node, DrawPoint* out) {
       out->site = read_plain_name(reader, node, "'site'");
     }},
    {"stack", true,
     [](Reader& reader, const SourceNode& node, DrawPoint* out) {
       read_texts(reader, node, &out->stack);
     }},
    {"effect", true,
     [](Reader& reader, const SourceNode& node, DrawPoint* out) {
       if (const auto word = reader.word(node, "'effect'", kEffects))
         out->effect = static_cast<DrawPoint::Effect>(*word);
     }},
    {"cases", true,
     [](Reader& reader, const SourceNode& node, DrawPoint* out) {
       out->cases = read_count(reader, node).value_or(0);
     }},
    {"replays", true,
     [](Reader& reader, const SourceNode& node, DrawPoint* out) {
       out->replays = read_count(reader, node).value_or(0);
     }},
};

constexpr Key<TimeEvidence> kTimeKeys[] = {
    {"cases", true,
     [](Reader& reader, const SourceNode& node, TimeEvidence* out) {
       out->cases = read_count(reader, node).value_or(0);
     }},
    {"replays", true,
     [](Reader& reader, const SourceNode& node, TimeEvidence* out) {
       out->replays = read_count(reader, node).value_or(0);
     }},
    {"matters", true,
     [](Reader& reader, const SourceNode& node, TimeEvidence* out) {
       read_texts(reader, node, &out->matters);
     }},
};

constexpr Key<CaseSet> kSetKeys[] = {
    {"format", true, [](Reader&, const SourceNode&, CaseSet*) {}},
    {"service", true,
     [](Reader& reader, const SourceNode& node, CaseSet* out) {
       out->service = read_plain_name(reader, node, "'service'");
     }},
    {"builds", true,
     [](Reader& reader, const SourceNode& node, CaseSet* out) {
       each_element(reader, node, [&](const SourceNode& each) {
         config::read_object<Build>(reader, each, "a build", kBuildKeys,
                                    &out->builds.emplace_back());
       });
     }},
    {"environment", false,
     [](Reader& reader, const SourceNode& node, CaseSet* out) {
       if (!reader.expect(node, SourceNode::Kind::kObject, "'environment'")) return;
       for (const SourceNode& each : node.children) {
         if (auto text = reader.text(each, "'" + each.key + "'"))
           out->environment[each.key] = std::move(*text);
       }
     }},
    {"redacted", false,
     [](Reader& reader, const SourceNode& node, CaseSet* out) {
       read_texts(reader, node, &out->redacted);
     }},
    {"redact", false,
     [](Reader& reader, const SourceNode& node, CaseSet* out) {
       config::read_redact(reader, node, &out->redact);
     }},
    {"match_headers", false,
     [](Reader& reader, const SourceNode& node, CaseSet* out) {
       read_names(reader, node, &out->match_headers);
     }},
    {"varying_headers", false,
     [](Reader& reader, const SourceNode& node, CaseSet* out) {
       read_names(reader, node, &out->varying_headers);
     }},
    {"optional_headers", false,
     [](Reader& reader, const SourceNode& node, CaseSet* out) {
       read_names(reader, node, &out->optional_headers);
     }},
    {"masks", false,
     [](Reader& reader, const SourceNode& node, CaseSet* out) {
       config::read_masks(reader, node, &out->masks);
     }},
    {"any_type", false,
     [](Reader& reader, const SourceNode& node, CaseSet* out) {
       config::read_masks(reader, node, &out->any_type);
     }},
    {"unordered", false,
     [](Reader& reader, const SourceNode& node, CaseSet* out) {
       config::read_masks(reader, node, &out->unordered);
     }},
    {"points", false,
     [](Reader& reader, const SourceNode& node, CaseSet* out) {
       each_element(reader, node, [&](const SourceNode& each) {
         config::read_object<Point>(reader, each, "a point", kPointKeys,
                                    &out->points.emplace_back());
       });
     }},
    {"draws", false,
     [](Reader& reader, const SourceNode& node, CaseSet* out) {
       each_element(reader, node, [&](const SourceNode& each) {
         config::read_object<DrawPoint>(reader, each, "a place where random numbers are drawn",
                                        kDrawPointKeys, &out->draws.emplace_back());
       });
     }},
    {"time", false,
     [](Reader& reader, const SourceNode& node, CaseSet* out) {
       config::read_object<TimeEvidence>(reader, node, "'time'", kTimeKeys, &out->time.emplace());
     }},
    {"hosts", false,
     [](Reader& reader, const SourceNode& node, CaseSet* out) {
       if (!reader.expect(node, SourceNode::Kind::kObject, "'hosts'")) return;
       for (const SourceNode& each : node.children) read_texts(reader, each, &out->hosts[each.key]);
     }},
    {"not_followed", false,
     [](Reader& reader, const SourceNode& node, CaseSet* out) {
       read_texts(reader, node, &out->not_followed);
     }},
    {"counts", false,
     [](Reader& reader, const SourceNode& node, CaseSet* out) {
       if (!reader.expect(node, SourceNode::Kind::kObject, "'counts'")) return;
       for (const SourceNode& each : node.children) {
         if (const auto count = read_count(reader, each)) out->counts[each.key] = *count;
       }
     }},
};

JsonNode text_nodes(const std::vector<std::string>& texts) {
  JsonNode out = JsonNode::array();
  for (const std::string& text : texts) out.add(text_node(text));
  return out;
}

// A key that may be any text.
void put_member(const std::string& name, JsonNode value, JsonNode* out) {
  value.key = wire::json_token(name).value_or("\"?\"");
  out->add(std::move(value));
}

}  // namespace

std::string write_set(const CaseSet& of) {
  JsonNode out = JsonNode::object();
  out.add("format", number_node(kCaseFormat)).add("service", text_node(of.service));
  JsonNode builds = JsonNode::array();
  for (const Build& build : of.builds) {
    JsonNode row = JsonNode::object();
    row.add("program", text_node(build.program)).add("id", text_node(build.id));
    builds.add(std::move(row));
  }
  out.add("builds", std::move(builds));
  JsonNode environment = JsonNode::object();
  for (const auto& [name, value] : of.environment) put_member(name, text_node(value), &environment);
  if (!of.environment.empty()) out.add("environment", std::move(environment));
  if (!of.redacted.empty()) out.add("redacted", text_nodes(of.redacted));
  constexpr size_t kMaskDepth = 8;
  if (!of.redact.empty())
    out.add(
        "redact",
        wire::parse_json_node(to_config_text(of.redact), kMaskDepth).value_or(JsonNode::array()));
  out.add("match_headers", text_nodes(of.match_headers));
  if (!of.varying_headers.empty()) out.add("varying_headers", text_nodes(of.varying_headers));
  if (!of.optional_headers.empty()) out.add("optional_headers", text_nodes(of.optional_headers));
  const auto put_rules = [&out](const char* name, const std::vector<NondeterminismRule>& rules) {
    if (rules.empty()) return;
    out.add(name,
            wire::parse_json_node(to_config_text(rules), kMaskDepth).value_or(JsonNode::array()));
  };
  put_rules("masks", of.masks);
  put_rules("any_type", of.any_type);
  put_rules("unordered", of.unordered);
  JsonNode points = JsonNode::array();
  for (const Point& point : of.points) {
    JsonNode row = JsonNode::object();
    row.add("site", text_node(point.site))
        .add("kind", text_node(point.kind == Kind::kHttp ? "http" : "redis"))
        .add("stack", text_nodes(point.stack));
    points.add(std::move(row));
  }
  if (!of.points.empty()) out.add("points", std::move(points));
  JsonNode draws = JsonNode::array();
  for (const DrawPoint& point : of.draws) {
    JsonNode row = JsonNode::object();
    row.add("from", text_node(point.source));
    if (!point.site.empty()) row.add("site", text_node(point.site));
    row.add("stack", text_nodes(point.stack))
        .add("effect", text_node(std::string(kEffects[static_cast<size_t>(point.effect)])))
        .add("cases", number_node(point.cases))
        .add("replays", number_node(point.replays));
    draws.add(std::move(row));
  }
  if (!of.draws.empty()) out.add("draws", std::move(draws));
  if (of.time) {
    JsonNode time = JsonNode::object();
    time.add("cases", number_node(of.time->cases))
        .add("replays", number_node(of.time->replays))
        .add("matters", text_nodes(of.time->matters));
    out.add("time", std::move(time));
  }
  JsonNode hosts = JsonNode::object();
  for (const auto& [name, addresses] : of.hosts) put_member(name, text_nodes(addresses), &hosts);
  if (!of.hosts.empty()) out.add("hosts", std::move(hosts));
  if (!of.not_followed.empty()) out.add("not_followed", text_nodes(of.not_followed));
  JsonNode counts = JsonNode::object();
  for (const auto& [name, count] : of.counts) put_member(name, number_node(count), &counts);
  if (!of.counts.empty()) out.add("counts", std::move(counts));
  return file_text(out);
}

ReadSet read_set(std::string_view text, const std::string& path) {
  ReadSet out;
  SealedReader file(text, path, false);
  if (file.begin())
    config::read_object<CaseSet>(file.reader(), file.root(), "a set of cases", kSetKeys,
                                 &out.value);
  out.errors = std::move(file).take();
  return out;
}

}  // namespace filibuster::cases
