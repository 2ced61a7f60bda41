// `property` of a test: the programs that say what the application does, and who asks it (docs/property.md).
#include "daemon/config/reader.h"
#include "daemon/config/sections.h"

namespace filibuster::config {
namespace {

struct PropertyDraft {
  Draft* draft;
  PropertyConfig config;
  const SourceNode* model = nullptr;
  const SourceNode* client = nullptr;
};

constexpr int64_t kMostWeight = 1'000'000;
constexpr int64_t kMostItems = 10'000;
constexpr int64_t kMostRepetitions = 1'000;
constexpr int64_t kMostPreemptions = 2;

template <uint64_t PropertyConfig::*member>
void read_number(Reader& reader, const SourceNode& node, int64_t least, int64_t most,
                 PropertyDraft* out) {
  if (const auto number = reader.integer(node, "'" + node.key + "'", least, most))
    out->config.*member = static_cast<uint64_t>(*number);
}

template <uint64_t PropertyFault::*member>
void read_weight(Reader& reader, const SourceNode& node, PropertyFault* out) {
  if (const auto number = reader.integer(node, "'" + node.key + "'", 0, kMostWeight))
    out->*member = static_cast<uint64_t>(*number);
}

constexpr Key<PropertyFault> kFaultKeys[] = {
    {"on", true,
     [](Reader& reader, const SourceNode& node, PropertyFault* out) {
       read_on(reader, node, &out->rule);
     }},
    {"inject", true,
     [](Reader& reader, const SourceNode& node, PropertyFault* out) {
       read_inject(reader, node, &out->rule);
     }},
    {"evidence", false,
     [](Reader& reader, const SourceNode& node, PropertyFault* out) {
       read_evidence(reader, node, &out->rule);
     }},
    {"name", false,
     [](Reader& reader, const SourceNode& node, PropertyFault* out) {
       if (const auto text = reader.text(node, "'name'")) out->name = *text;
     }},
    {"weight", false, read_weight<&PropertyFault::weight>},
    {"lasts", false, read_weight<&PropertyFault::lasts>},
    {"likelier", false,
     [](Reader& reader, const SourceNode& node, PropertyFault* out) {
       if (!reader.expect(node, SourceNode::Kind::kObject, "'likelier'")) return;
       for (const SourceNode& child : node.children) {
         if (const auto number = reader.integer(child, "'" + child.key + "'", 0, kMostWeight))
           out->likelier[child.key] = static_cast<uint64_t>(*number);
       }
     }},
};

void read_property_faults(Reader& reader, const SourceNode& node, PropertyDraft* out) {
  if (!reader.expect(node, SourceNode::Kind::kArray, "'faults'")) return;
  std::vector<PropertyFault>& faults = out->config.faults.emplace();
  for (const SourceNode& child : node.children) {
    PropertyFault fault;
    fault.rule.line = reader.line_of(child);
    if (!read_object<PropertyFault>(reader, child, "a fault", kFaultKeys, &fault)) continue;
    if (fault.rule.inject.empty())
      reader.error(child.offset, "'inject' is empty: expected a fault");
    const bool is_twice = !fault.name.empty() &&
                          std::any_of(faults.begin(), faults.end(), [&](const PropertyFault& each) {
                            return each.name == fault.name;
                          });
    if (is_twice)
      reader.error(child.offset,
                   "two faults have the name '" + fault.name + "': expected one for each");
    if (fault.rule.service.empty() && fault.rule.grpc.empty())
      reader.error(child.offset, "a fault of 'property' needs 'on' with a 'service'");
    faults.push_back(std::move(fault));
  }
  for (size_t i = 0; i < faults.size(); ++i) {
    for (const auto& likelier : faults[i].likelier) {
      const std::string& name = likelier.first;
      const bool is_known = std::any_of(faults.begin(), faults.end(),
                                        [&](const auto& each) { return each.name == name; });
      if (!is_known)
        reader.error(node.children[i].offset,
                     "'likelier': there is no fault with the name '" + name + "' here");
    }
  }
}

constexpr Key<PropertyDraft> kPropertyKeys[] = {
    {"model", true,
     [](Reader&, const SourceNode& node, PropertyDraft* out) { out->model = &node; }},
    {"client", true,
     [](Reader&, const SourceNode& node, PropertyDraft* out) { out->client = &node; }},
    {"length", false,
     [](Reader& reader, const SourceNode& node, PropertyDraft* out) {
       read_number<&PropertyConfig::length>(reader, node, 1, kMostItems, out);
     }},
    {"clients", false,
     [](Reader& reader, const SourceNode& node, PropertyDraft* out) {
       read_number<&PropertyConfig::clients>(reader, node, 1, kMostPropertyClients, out);
     }},
    {"repetitions", false,
     [](Reader& reader, const SourceNode& node, PropertyDraft* out) {
       read_number<&PropertyConfig::repetitions>(reader, node, 1, kMostRepetitions, out);
     }},
    {"schedules", false,
     [](Reader& reader, const SourceNode& node, PropertyDraft* out) {
       read_number<&PropertyConfig::schedules>(reader, node, 0, kMostPreemptions, out);
     }},
    {"faults", false, read_property_faults},
    {"fault_weight", false,
     [](Reader& reader, const SourceNode& node, PropertyDraft* out) {
       read_number<&PropertyConfig::fault_weight>(reader, node, 0, kMostWeight, out);
     }},
    {"request_weight", false,
     [](Reader& reader, const SourceNode& node, PropertyDraft* out) {
       read_number<&PropertyConfig::request_weight>(reader, node, 1, kMostWeight, out);
     }},
};

void read_program(Reader& reader, const SourceNode& node, Draft* draft, Command* out) {
  const std::string name = "'" + node.key + "'";
  if (node.kind == SourceNode::Kind::kString || node.kind == SourceNode::Kind::kArray)
    return read_command(reader, node, name, draft, out);
  reader.error(node.offset,
               name +
                   ": expected text that the shell runs, an array of arguments, or an object "
                   "(docs/property.md 'Without code'), found " +
                   std::string(kind_name(node.kind)));
}

// What a client may ask depends on the model, wherever the two stand.
void read_model_and_client(Reader& reader, PropertyDraft* test) {
  PropertyConfig& out = test->config;
  if (test->model != nullptr && test->model->kind == SourceNode::Kind::kObject) {
    read_ready_model(reader, *test->model, &out.ready_model);
  } else if (test->model != nullptr) {
    read_program(reader, *test->model, test->draft, &out.model);
  }
  if (test->client == nullptr) return;
  std::vector<std::string> configured;
  if (test->client->kind == SourceNode::Kind::kObject) {
    read_http_client(reader, *test->client, out.ready_model ? &*out.ready_model : nullptr,
                     test->draft, &out.http_client);
    if (const auto commands = out.http_client.find("commands"); commands != out.http_client.end()) {
      for (const auto& [f, command] : commands->items()) configured.push_back(f);
    }
  } else {
    read_program(reader, *test->client, test->draft, &out.client);
  }
  if (out.ready_model) finish_ready_model(reader, *test->model, configured, &*out.ready_model);
}

}  // namespace

void read_property(Reader& reader, const SourceNode& node, Draft* draft,
                   std::optional<PropertyConfig>* out) {
  PropertyDraft test{.draft = draft, .config = {}};
  if (!read_object<PropertyDraft>(reader, node, "'property'", kPropertyKeys, &test)) return;
  read_model_and_client(reader, &test);
  *out = std::move(test.config);
}

}  // namespace filibuster::config
