#include "daemon/report/baseline.h"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "daemon/config/reader.h"
#include "daemon/model/session_report.h"

namespace filibuster {
namespace {

namespace fs = std::filesystem;
using config::Key;
using config::Reader;
using NodeKind = SourceNode::Kind;

constexpr int kBaselineVersion = 1;

bool is_finding_id(std::string_view text) {
  return text.size() == kFindingIdSize &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

template <std::string Acceptance::*member>
void read_text(Reader& reader, const SourceNode& node, Acceptance* out) {
  if (const auto text = reader.text(node, "'" + node.key + "'")) out->*member = *text;
}

constexpr Key<Acceptance> kRowKeys[] = {
    {"finding", true,
     [](Reader& reader, const SourceNode& node, Acceptance* out) {
       const auto text = reader.text(node, "'finding'");
       if (!text) return;
       if (!is_finding_id(*text))
         reader.error(node.offset,
                      "'finding': expected the id of a finding, 16 hexadecimal digits");
       out->finding = *text;
     }},
    {"test", true, read_text<&Acceptance::test>},
    {"what", true, read_text<&Acceptance::what>},
    {"because", true, read_text<&Acceptance::because>},
    {"until", true,
     [](Reader& reader, const SourceNode& node, Acceptance* out) {
       const auto text = reader.text(node, "'until'");
       if (!text) return;
       if (!is_date(*text))
         reader.error(node.offset, "'until': expected a day such as \"2026-12-31\"");
       out->until = *text;
     }},
};

void read_rows(Reader& reader, const SourceNode& node, Baseline* out) {
  if (!reader.expect(node, NodeKind::kArray, "'accepted'")) return;
  std::set<std::string> known;
  for (const SourceNode& child : node.children) {
    Acceptance row;
    if (!config::read_object<Acceptance>(reader, child, "an accepted finding", kRowKeys, &row))
      continue;
    if (!row.finding.empty() && !known.insert(row.finding).second)
      reader.error(child.offset, "finding " + row.finding + " is accepted twice");
    out->accepted.push_back(std::move(row));
  }
}

constexpr Key<Baseline> kKeys[] = {
    {"version", true,
     [](Reader& reader, const SourceNode& node, Baseline*) {
       if (node.kind == NodeKind::kInteger && node.integer == kBaselineVersion) return;
       reader.error(node.offset, "'version': this program reads baselines of version " +
                                     std::to_string(kBaselineVersion) +
                                     " only; use the filibuster that wrote this one, or accept its "
                                     "findings anew in another file");
     }},
    {"accepted", true, read_rows},
};

// Of a file of another version only the version is judged: what else it has is not known.
bool is_other_version(const SourceTree& tree) {
  if (tree.error || tree.root.kind != NodeKind::kObject) return false;
  return std::any_of(tree.root.children.begin(), tree.root.children.end(),
                     [](const SourceNode& node) {
                       return node.key == "version" &&
                              (node.kind != NodeKind::kInteger || node.integer != kBaselineVersion);
                     });
}

}  // namespace

bool is_date(std::string_view text) {
  constexpr size_t kSize = 10;
  if (text.size() != kSize) return false;
  for (size_t i = 0; i < kSize; ++i) {
    const bool dash = i == 4 || i == 7;
    if (dash ? text[i] != '-' : std::isdigit(static_cast<unsigned char>(text[i])) == 0)
      return false;
  }
  const auto number = [&](size_t at, size_t size) {
    return static_cast<unsigned>(std::stoul(std::string(text.substr(at, size))));
  };
  return std::chrono::year_month_day(std::chrono::year(static_cast<int>(number(0, 4))),
                                     std::chrono::month(number(5, 2)),
                                     std::chrono::day(number(8, 2)))
      .ok();
}

std::string today(std::string_view pretended) {
  if (!pretended.empty()) return std::string(pretended);
  const std::chrono::year_month_day day(
      std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now()));
  char text[32];
  std::snprintf(text, sizeof text, "%04d-%02u-%02u", static_cast<int>(day.year()),
                static_cast<unsigned>(day.month()), static_cast<unsigned>(day.day()));
  return text;
}

ParsedBaseline parse_baseline(const std::string& text, const std::string& path) {
  ParsedBaseline out;
  out.baseline.path = path;
  out.baseline.present = true;
  Reader reader(text, path);
  const SourceTree tree = parse_source(text);
  if (tree.error) {
    reader.error(tree.error->offset, tree.error->message);
  } else if (is_other_version(tree)) {
    for (const SourceNode& node : tree.root.children) {
      if (node.key == "version") kKeys[0].read(reader, node, &out.baseline);
    }
  } else {
    config::read_object<Baseline>(reader, tree.root, "the baseline", kKeys, &out.baseline);
  }
  out.errors = std::move(reader).take();
  return out;
}

ParsedBaseline read_baseline(const std::string& path) {
  std::error_code failed;
  const fs::file_status status = fs::status(path, failed);
  ParsedBaseline out;
  out.baseline.path = path;
  if (status.type() == fs::file_type::not_found) return out;
  std::ifstream file(path, std::ios::binary);
  // A pipe or a device could be read without end.
  if (!fs::is_regular_file(status) || !file) {
    out.errors.push_back({path, 0, 0, "the baseline cannot be read: expected a file of this user"});
    return out;
  }
  return parse_baseline(std::string(std::istreambuf_iterator<char>(file), {}), path);
}

std::string to_text(const Baseline& baseline) {
  using Json = nlohmann::ordered_json;
  std::vector<Acceptance> sorted = baseline.accepted;
  std::sort(sorted.begin(), sorted.end(), [](const Acceptance& a, const Acceptance& b) {
    return std::tie(a.test, a.finding) < std::tie(b.test, b.finding);
  });
  Json rows = Json::array();
  for (const Acceptance& row : sorted) {
    rows.push_back({{"finding", row.finding},
                    {"test", row.test},
                    {"what", row.what},
                    {"because", row.because},
                    {"until", row.until}});
  }
  return Json{{"version", kBaselineVersion}, {"accepted", std::move(rows)}}.dump(
             2, ' ', false, Json::error_handler_t::replace) +
         "\n";
}

bool accept(const Acceptance& row, Baseline* baseline) {
  for (Acceptance& known : baseline->accepted) {
    if (known.finding != row.finding) continue;
    known = row;
    return true;
  }
  baseline->accepted.push_back(row);
  return false;
}

std::string_view state_name(RowState state) {
  switch (state) {
    case RowState::kAccepted:
      return "accepted";
    case RowState::kExpired:
      return "expired";
    case RowState::kNotFound:
      return "not found";
    case RowState::kNotLookedFor:
      return "not looked for";
  }
  return "";
}

void apply_baseline(const Baseline& baseline, const std::string& day, SessionReport* report) {
  std::map<std::string, const Acceptance*> by_id;
  for (const Acceptance& row : baseline.accepted) by_id.emplace(row.finding, &row);
  std::set<std::string> found, explored;
  for (TestReport& test : report->tests) {
    if (test.finished) explored.insert(test.test);
    for (Finding& finding : test.findings) {
      found.insert(finding.id);
      const auto row = by_id.find(finding.id);
      if (row == by_id.end()) continue;
      finding.standing = day <= row->second->until ? Standing::kAccepted : Standing::kExpired;
      finding.because = row->second->because;
      finding.until = row->second->until;
    }
  }
  BaselineUse& use = report->baseline;
  use.path = baseline.path;
  use.present = baseline.present;
  use.day = day;
  for (const Acceptance& row : baseline.accepted) {
    const RowState state = found.contains(row.finding)
                               ? (day <= row.until ? RowState::kAccepted : RowState::kExpired)
                           : explored.contains(row.test) ? RowState::kNotFound
                                                         : RowState::kNotLookedFor;
    use.rows.push_back({row, state});
  }
}

}  // namespace filibuster
