#include <algorithm>
#include <cctype>

#include "daemon/config/sections.h"

namespace filibuster::config {
namespace {

using Kind = SourceNode::Kind;

// In memory shared with every agent, next to the other faults of an execution.
constexpr size_t kMaxBody = 64 * 1024;

// "503" and 503 are short for "status:503"; a number that is no status is told as such.
std::string long_form(std::string_view text) {
  const std::string_view number = text.substr(0, text.find(':'));
  const auto digit = [](unsigned char c) { return std::isdigit(c) != 0; };
  const bool is_status = !number.empty() && std::all_of(number.begin(), number.end(), digit);
  return is_status ? "status:" + std::string(text) : std::string(text);
}

bool is_token(std::string_view text) {  // RFC 9110 5.6.2
  const auto allowed = [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string_view("!#$%&'*+-.^_`|~").find(static_cast<char>(c)) != std::string_view::npos;
  };
  return !text.empty() && std::all_of(text.begin(), text.end(), allowed);
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

constexpr Key<FaultSpec> kStatusKeys[] = {
    {"status", true,
     [](Reader& reader, const SourceNode& node, FaultSpec* out) {
       out->kind = FaultKind::kStatus;
       if (const auto status = reader.integer(node, "'status'", 100, 599)) {
         out->status = static_cast<uint16_t>(*status);
       }
     }},
    {"body", false,
     [](Reader& reader, const SourceNode& node, FaultSpec* out) {
       if (!reader.expect(node, Kind::kString, "'body'")) return;
       if (node.text.size() > kMaxBody) {
         reader.error(node.offset, "'body': at most " + std::to_string(kMaxBody) + " bytes");
         return;
       }
       out->body = node.text;
     }},
    {"headers", false,
     [](Reader& reader, const SourceNode& node, FaultSpec* out) {
       if (!reader.expect(node, Kind::kObject, "'headers'")) return;
       for (const SourceNode& child : node.children) {
         const std::string name = lower(child.key);
         if (!is_token(child.key)) {
           reader.error(child.key_offset, "'" + child.key + "' cannot be the name of a header");
         } else if (name == "content-length" || name == "transfer-encoding" ||
                    name == "connection") {
           reader.error(child.key_offset,
                        "header '" + child.key + "' is made by filibuster itself");
         }
         const auto value = reader.text(child, "header '" + child.key + "'");
         if (!value) continue;
         if (value->find_first_of("\r\n") != std::string::npos) {
           reader.error(child.offset, "header '" + child.key + "': a line break is not allowed");
         }
         out->headers.emplace_back(child.key, *value);
       }
     }},
    {"after", false,
     [](Reader& reader, const SourceNode& node, FaultSpec* out) {
       if (const auto after = reader.flag(node, "'after'")) out->after_effect = *after;
     }},
};

void read_fault(Reader& reader, const SourceNode& node, std::vector<FaultSpec>* out) {
  FaultSpec fault;
  if (node.kind == Kind::kObject) {
    if (!read_object<FaultSpec>(reader, node, "a fault", kStatusKeys, &fault)) return;
  } else if (node.kind == Kind::kString || node.kind == Kind::kInteger) {
    const std::string text = node.kind == Kind::kString ? node.text : std::to_string(node.integer);
    Result<FaultSpec> parsed = parse_fault_text(text);
    if (!parsed) {
      reader.error(node.offset, parsed.error().message);
      return;
    }
    fault = std::move(parsed).value();
  } else {
    reader.error(
        node.offset,
        "a fault: expected text such as \"refused\" or \"status:503\", or {\"status\": 503, "
        "\"body\": \"...\"}, found " +
            std::string(kind_name(node.kind)));
    return;
  }
  if (std::find(out->begin(), out->end(), fault) != out->end()) {
    reader.error(node.offset, "fault '" + to_text(fault) + "' is listed twice");
    return;
  }
  out->push_back(std::move(fault));
}

template <std::string FaultRule::*member>
void read_match(Reader& reader, const SourceNode& node, FaultRule* out) {
  const auto text = reader.text(node, "'" + node.key + "'");
  if (!text) return;
  if (text->empty()) {
    reader.error(node.offset, "'" + node.key + "' is empty; leave it out to match anything");
  }
  out->*member = *text;
}

constexpr Key<FaultRule> kOnKeys[] = {
    {"service", false, read_match<&FaultRule::service>},
    {"method", false, read_match<&FaultRule::method>},
    {"path", false, read_match<&FaultRule::path>},
    {"caller", false, read_match<&FaultRule::caller>},
};

constexpr Key<FaultRule> kRuleKeys[] = {
    {"on", false,
     [](Reader& reader, const SourceNode& node, FaultRule* out) {
       read_object<FaultRule>(reader, node, "'on'", kOnKeys, out);
     }},
    {"inject", true,
     [](Reader& reader, const SourceNode& node, FaultRule* out) {
       if (node.kind != Kind::kArray) {  // one fault needs no brackets
         read_fault(reader, node, &out->inject);
         return;
       }
       for (const SourceNode& child : node.children) read_fault(reader, child, &out->inject);
     }},
};

}  // namespace

void read_faults(Reader& reader, const SourceNode& node, Draft* draft) {
  if (!reader.expect(node, Kind::kArray, "'faults'")) return;
  for (const SourceNode& child : node.children) {
    FaultRule rule;
    rule.line = reader.line_of(child);
    if (read_object<FaultRule>(reader, child, "a rule of 'faults'", kRuleKeys, &rule)) {
      draft->config.faults.push_back(std::move(rule));
    }
  }
}

}  // namespace filibuster::config

namespace filibuster {

Result<FaultSpec> parse_fault_text(std::string_view text) {
  return parse_fault(config::long_form(text));
}

}  // namespace filibuster
