// `attach` of a service: which processes it is, that run already.
#include "daemon/config/sections.h"

namespace filibuster::config {
namespace {

constexpr uint32_t kLargestPid = 4'194'304;  // PID_MAX_LIMIT (proc(5))

// Empties `attach` of the service if the value is not good.
void read_attach_number(Reader& reader, const SourceNode& node, AttachConfig::By by,
                        std::string_view what, uint32_t most, AttachConfig* out) {
  const auto number = reader.integer(node, what, 1, most);
  if (number) *out = {by, static_cast<uint32_t>(*number), ""};
}

void read_attach_text(Reader& reader, const SourceNode& node, AttachConfig::By by,
                      const std::string& what, const std::string& expected, AttachConfig* out) {
  const auto text = reader.text(node, what);
  if (!text) return;
  const bool is_path = text->starts_with('/');
  if (by == AttachConfig::By::kName && !text->empty() &&
      text->find_first_not_of("*?") == std::string::npos) {
    reader.error(node.offset,
                 what + ": every program of this machine has such a name; expected " + expected);
    return;
  }
  if (text->empty() || (by == AttachConfig::By::kCgroup) != is_path) {
    reader.error(node.offset, what + ": expected " + expected);
    return;
  }
  *out = {by, 0, *text};
}

constexpr Key<AttachConfig> kAttachKeys[] = {
    {"pid", false,
     [](Reader& reader, const SourceNode& node, AttachConfig* out) {
       read_attach_number(reader, node, AttachConfig::By::kPid, "'pid'", kLargestPid, out);
     }},
    {"port", false,
     [](Reader& reader, const SourceNode& node, AttachConfig* out) {
       read_attach_number(reader, node, AttachConfig::By::kPort, "'port'", 65535, out);
     }},
    {"cgroup", false,
     [](Reader& reader, const SourceNode& node, AttachConfig* out) {
       read_attach_text(
           reader, node, AttachConfig::By::kCgroup, "'cgroup'",
           "a path from the root of the cgroups, as in \"/system.slice/users.service\"", out);
     }},
    {"name", false,
     [](Reader& reader, const SourceNode& node, AttachConfig* out) {
       read_attach_text(reader, node, AttachConfig::By::kName, "'name'",
                        "the name of a program without its folder, as in \"users*\" ('*' and '?' "
                        "match)",
                        out);
     }},
};

}  // namespace

void read_attach(Reader& reader, const SourceNode& node, AttachConfig* out) {
  AttachConfig attach;
  const size_t errors = reader.errors();
  if (!read_object<AttachConfig>(reader, node, "'attach'", kAttachKeys, &attach)) return;
  if (reader.errors() == errors && node.children.size() != 1) {
    reader.error(node.offset,
                 "'attach': expected one of 'pid', 'port', 'cgroup' and 'name', as in "
                 "{\"port\": 8080}");
    return;
  }
  *out = attach;
}

}  // namespace filibuster::config

namespace filibuster {

std::string to_text(const AttachConfig& attach) {
  switch (attach.by) {
    case AttachConfig::By::kPid:
      return "pid " + std::to_string(attach.number);
    case AttachConfig::By::kPort:
      return "port " + std::to_string(attach.number);
    case AttachConfig::By::kCgroup:
      return "the cgroup " + attach.text;
    case AttachConfig::By::kName:
      return "the name '" + attach.text + "'";
    case AttachConfig::By::kNothing:
      break;
  }
  return "nothing";
}

}  // namespace filibuster
