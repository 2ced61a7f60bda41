// `property` of a test: the programs that say what the application does, and who asks it (docs/property.md).
#include "daemon/config/reader.h"
#include "daemon/config/sections.h"

namespace filibuster::config {
namespace {

struct PropertyDraft {
  Draft* draft;
  PropertyConfig config;
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

constexpr Key<PropertyDraft> kPropertyKeys[] = {
    {"model", true,
     [](Reader& reader, const SourceNode& node, PropertyDraft* out) {
       read_command(reader, node, "'model'", out->draft, &out->config.model);
     }},
    {"client", true,
     [](Reader& reader, const SourceNode& node, PropertyDraft* out) {
       read_command(reader, node, "'client'", out->draft, &out->config.client);
     }},
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
    {"fault_weight", false,
     [](Reader& reader, const SourceNode& node, PropertyDraft* out) {
       read_number<&PropertyConfig::fault_weight>(reader, node, 0, kMostWeight, out);
     }},
    {"request_weight", false,
     [](Reader& reader, const SourceNode& node, PropertyDraft* out) {
       read_number<&PropertyConfig::request_weight>(reader, node, 1, kMostWeight, out);
     }},
};

}  // namespace

void read_property(Reader& reader, const SourceNode& node, Draft* draft,
                   std::optional<PropertyConfig>* out) {
  PropertyDraft test{.draft = draft, .config = {}};
  if (read_object<PropertyDraft>(reader, node, "'property'", kPropertyKeys, &test))
    *out = std::move(test.config);
}

}  // namespace filibuster::config
