#include "daemon/cases/case_file.h"

#include <algorithm>
#include <utility>

#include "core/text/json_comments.h"
#include "daemon/cases/file_text.h"
#include "daemon/cases/route.h"
#include "daemon/cases/sealed_reader.h"
#include "daemon/cases/time_text.h"

namespace filibuster::cases {
namespace {

using config::Key;
using config::Reader;
using wire::JsonNode;

constexpr int64_t kMostSeen = int64_t{1} << 53;

struct CaseDraft {
  PartReader* parts;
  Case value = {};
  std::string route = {};
  size_t route_offset = 0;
};

constexpr Key<CaseDraft> kCaseKeys[] = {
    {"format", true, [](Reader&, const SourceNode&, CaseDraft*) {}},
    {"service", true,
     [](Reader& reader, const SourceNode& node, CaseDraft* out) {
       out->value.service = read_plain_name(reader, node, "'service'");
     }},
    {"route", true,
     [](Reader& reader, const SourceNode& node, CaseDraft* out) {
       out->route = reader.text(node, "'route'").value_or("");
       out->route_offset = node.offset;
     }},
    {"base", true,
     [](Reader& reader, const SourceNode& node, CaseDraft* out) {
       const auto text = reader.text(node, "'base'");
       if (!text) return;
       const auto time = parse_time_text(*text);
       if (!time)
         reader.error(node.offset,
                      "'base': expected a time such as \"2026-11-30T09:14:07.123456Z\"");
       out->value.base_us = time.value_or(0);
     }},
    {"seen", true,
     [](Reader& reader, const SourceNode& node, CaseDraft* out) {
       out->value.seen =
           static_cast<uint64_t>(reader.integer(node, "'seen'", 1, kMostSeen).value_or(1));
     }},
    {"partial", false,
     [](Reader& reader, const SourceNode& node, CaseDraft* out) {
       out->value.partial = reader.text(node, "'partial'").value_or("");
       if (out->value.partial.empty()) reader.error(node.offset, "'partial': expected a reason");
     }},
    {"request", true,
     [](Reader&, const SourceNode& node, CaseDraft* out) {
       out->value.request = out->parts->request(node);
     }},
    {"start", false,
     [](Reader& reader, const SourceNode& node, CaseDraft* out) {
       if (!reader.expect(node, SourceNode::Kind::kArray, "'start'")) return;
       for (const SourceNode& each : node.children) {
         const auto name = reader.text(each, "a case in 'start'");
         if (!name) continue;
         if (!is_plain_file_name(*name))
           reader.error(each.offset, "'start': expected the name of a case of this set");
         out->value.start.push_back(*name);
       }
     }},
    {"draws", false,
     [](Reader&, const SourceNode& node, CaseDraft* out) {
       out->value.draws = out->parts->draws(node);
     }},
    {"calls", true,
     [](Reader&, const SourceNode& node, CaseDraft* out) {
       out->value.calls = out->parts->calls(node);
     }},
    {"answer", true,
     [](Reader&, const SourceNode& node, CaseDraft* out) {
       out->value.answer = out->parts->answer(node);
     }},
    {"seal", true,
     [](Reader& reader, const SourceNode& node, CaseDraft*) { reader.text(node, "'seal'"); }},
};

struct ProcessDraft {
  PartReader* parts;
  ProcessRecord value = {};
};

constexpr Key<ProcessDraft> kProcessKeys[] = {
    {"format", true, [](Reader&, const SourceNode&, ProcessDraft*) {}},
    {"service", true,
     [](Reader& reader, const SourceNode& node, ProcessDraft* out) {
       out->value.service = read_plain_name(reader, node, "'service'");
     }},
    {"draws", false,
     [](Reader&, const SourceNode& node, ProcessDraft* out) {
       out->value.draws = out->parts->draws(node);
     }},
    {"calls", true,
     [](Reader&, const SourceNode& node, ProcessDraft* out) {
       out->value.calls = out->parts->calls(node);
     }},
    {"openings", false,
     [](Reader& reader, const SourceNode& node, ProcessDraft* out) {
       if (!reader.expect(node, SourceNode::Kind::kObject, "'openings'")) return;
       for (const SourceNode& each : node.children)
         out->value.openings[each.key] = out->parts->openings(each);
     }},
    {"seal", true,
     [](Reader& reader, const SourceNode& node, ProcessDraft*) { reader.text(node, "'seal'"); }},
};

JsonNode call_nodes(const std::vector<Call>& calls, PartWriter* writer) {
  JsonNode out = JsonNode::array();
  for (const Call& call : calls) out.add(writer->call(call, out.children.size()));
  return out;
}

// An attempt is of the first one of its group, and of the same kind and service.
void check_attempts(const std::vector<Call>& calls, Reader* reader, const SourceNode& root) {
  const auto node = std::find_if(root.children.begin(), root.children.end(),
                                 [](const SourceNode& child) { return child.key == "calls"; });
  for (size_t i = 0; i < calls.size(); ++i) {
    if (!calls[i].attempt_of) continue;
    const Call& first = calls[*calls[i].attempt_of];
    if (first.attempt_of || first.input.to != calls[i].input.to ||
        first.input.kind != calls[i].input.kind)
      reader->error(node->children[i].offset,
                    "'attempt_of': expected the first attempt of a call to the same service");
  }
}

}  // namespace

WrittenFile write_case(const Case& of, const std::string& name) {
  PartWriter writer{name, {}};
  JsonNode out = JsonNode::object();
  out.add("format", number_node(kCaseFormat))
      .add("service", text_node(of.service))
      .add("route", text_node(route_of(of.request.method, of.request.target)))
      .add("base", text_node(time_text(of.base_us)))
      .add("seen", number_node(of.seen));
  if (!of.partial.empty()) out.add("partial", text_node(of.partial));
  out.add("request", writer.request(of.request));
  if (!of.start.empty()) {
    JsonNode start = JsonNode::array();
    for (const std::string& each : of.start) start.add(text_node(each));
    out.add("start", std::move(start));
  }
  if (!of.draws.empty()) out.add("draws", PartWriter::draws(of.draws));
  out.add("calls", call_nodes(of.calls, &writer)).add("answer", writer.answer(of.answer));
  return {name, sealed_text(out), std::move(writer.files)};
}

ReadCase read_case(std::string_view text, const std::string& path, const ReadBeside& beside,
                   Seal seal) {
  ReadCase out;
  SealedReader file(text, path, seal == Seal::kChecked);
  if (file.begin()) {
    PartReader parts(&file.reader(), file.text(), &beside);
    CaseDraft draft{&parts};
    const size_t before = file.reader().errors();
    config::read_object<CaseDraft>(file.reader(), file.root(), "a case", kCaseKeys, &draft);
    if (file.reader().errors() == before) {
      check_attempts(draft.value.calls, &file.reader(), file.root());
      const Request& request = draft.value.request;
      if (const std::string route = route_of(request.method, request.target); route != draft.route)
        file.reader().error(draft.route_offset, "'route': that of the request is '" + route + "'");
    }
    out.value = std::move(draft.value);
  }
  out.value.file = path;
  out.errors = std::move(file).take();
  return out;
}

WrittenFile write_process(const ProcessRecord& of) {
  PartWriter writer{std::string(kProcessName), {}};
  JsonNode out = JsonNode::object();
  out.add("format", number_node(kCaseFormat)).add("service", text_node(of.service));
  if (!of.draws.empty()) out.add("draws", PartWriter::draws(of.draws));
  out.add("calls", call_nodes(of.calls, &writer));
  if (!of.openings.empty()) {
    JsonNode openings = JsonNode::object();
    for (const auto& [service, all] : of.openings) {
      JsonNode list = JsonNode::array();
      for (const Opening& each : all) list.add(writer.opening(each));
      openings.add(service, std::move(list));
    }
    out.add("openings", std::move(openings));
  }
  return {writer.name, sealed_text(out), std::move(writer.files)};
}

ReadProcess read_process(std::string_view text, const std::string& path, const ReadBeside& beside,
                         Seal seal) {
  ReadProcess out;
  SealedReader file(text, path, seal == Seal::kChecked);
  if (file.begin()) {
    PartReader parts(&file.reader(), file.text(), &beside);
    ProcessDraft draft{&parts};
    const size_t before = file.reader().errors();
    config::read_object<ProcessDraft>(file.reader(), file.root(), "the record of a process",
                                      kProcessKeys, &draft);
    if (file.reader().errors() == before)
      check_attempts(draft.value.calls, &file.reader(), file.root());
    out.value = std::move(draft.value);
  }
  out.errors = std::move(file).take();
  return out;
}

}  // namespace filibuster::cases
