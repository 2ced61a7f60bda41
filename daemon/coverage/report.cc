#include "daemon/coverage/report.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "daemon/redact/redact.h"

namespace filibuster::coverage {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr int kVersion = 1;
constexpr size_t kShownFiles = 12;   // of a service, on the terminal
constexpr size_t kShownRanges = 10;  // of a file

Lines difference(const Lines& lines, const Lines& without) {
  Lines out;
  std::set_difference(lines.begin(), lines.end(), without.begin(), without.end(),
                      std::inserter(out, out.end()));
  return out;
}

OrderedJson rows(const std::vector<Range>& ranges) {
  OrderedJson out = OrderedJson::array();
  for (const Range& range : ranges) out.push_back({range.first, range.last});
  return out;
}

OrderedJson row(const Counts& counts) {
  return {{"statements", counts.statements},
          {"without_faults", counts.without_faults},
          {"reached", counts.reached},
          {"only_under_faults", counts.only_under_faults()},
          {"never", counts.never()}};
}

OrderedJson row(const FileReport& file) {
  return {{"file", file.file},
          {"counts", row(file.counts())},
          {"only_under_faults", rows(file.only_under_faults())},
          {"never", rows(file.never())}};
}

OrderedJson row(const ServiceReport& service) {
  OrderedJson files = OrderedJson::array();
  for (const FileReport& file : service.files) files.push_back(row(file));
  return {{"service", service.service}, {"tools", service.tools},
          {"reason", service.reason},   {"counts", row(service.counts())},
          {"files", std::move(files)},  {"notes", service.notes}};
}

// Rounded down, so that 100 % always means all.
std::string percent(size_t part, size_t whole) {
  return std::to_string(whole == 0 ? 100 : 100 * part / whole) + " %";
}

std::string right(const std::string& text, size_t width) {
  return std::string(text.size() < width ? width - text.size() : 0, ' ') + text;
}

std::string left(const std::string& text, size_t width) {
  return text + std::string(text.size() < width ? width - text.size() : 0, ' ');
}

std::string table_row(const std::string& name, const Counts& counts, size_t width) {
  return "  " + left(name, width) + right(std::to_string(counts.statements), 12) +
         right(percent(counts.without_faults, counts.statements), 16) +
         right(percent(counts.reached, counts.statements), 14) +
         right(std::to_string(counts.only_under_faults()), 19) +
         right(std::to_string(counts.never()), 7) + "\n";
}

std::string shortened(std::vector<Range> ranges) {
  const size_t more = ranges.size() > kShownRanges ? ranges.size() - kShownRanges : 0;
  ranges.resize(ranges.size() - more);
  return to_text(ranges) + (more > 0 ? " and " + std::to_string(more) + " more" : "");
}

using FileRanges = std::vector<Range> (FileReport::*)() const;

std::string list(const Report& report, const char* title, FileRanges lines) {
  std::string out;
  for (const ServiceReport& service : report.services) {
    size_t shown = 0, more = 0;
    for (const FileReport& file : service.files) {
      const std::vector<Range> found = (file.*lines)();
      if (found.empty()) continue;
      if (++shown > kShownFiles) {
        ++more;
        continue;
      }
      out += "    " + service.service + "  " + file.file + ": " + shortened(found) + "\n";
    }
    if (more > 0) {
      out += "    " + service.service + "  and " + std::to_string(more) + " more files\n";
    }
  }
  return out.empty() ? "" : std::string("  ") + title + "\n" + out;
}

}  // namespace

void Counts::add(const Counts& other) {
  statements += other.statements;
  without_faults += other.without_faults;
  reached += other.reached;
}

Counts FileReport::counts() const {
  return {all.statements.size(), without_faults.size(), all.reached.size()};
}

std::vector<Range> FileReport::only_under_faults() const {
  return ranges(difference(all.reached, without_faults), all.statements);
}

std::vector<Range> FileReport::never() const {
  return ranges(difference(all.statements, all.reached), all.statements);
}

Counts ServiceReport::counts() const {
  Counts out;
  for (const FileReport& file : files) out.add(file.counts());
  return out;
}

Counts Report::counts() const {
  std::map<std::string, FileReport> files;
  for (const ServiceReport& service : services) {
    for (const FileReport& file : service.files) {
      FileReport& known = files[file.file];
      Files all{{"", std::move(known.all)}};
      merge({{"", file.all}}, &all);
      known.all = std::move(all[""]);
      known.without_faults.insert(file.without_faults.begin(), file.without_faults.end());
    }
  }
  Counts out;
  for (const auto& [name, file] : files) out.add(file.counts());
  return out;
}

std::vector<FileReport> compare(const Files& without, const Files& under,
                                const std::string& directory) {
  Files all = without;
  merge(under, &all);
  const std::string prefix = directory + (directory.ends_with('/') ? "" : "/");
  std::vector<FileReport> out;
  for (const auto& [path, lines] : all) {
    if (lines.statements.empty()) continue;
    FileReport file;
    file.file = path.starts_with(prefix) ? path.substr(prefix.size()) : path;
    file.all = lines;
    if (const auto before = without.find(path); before != without.end()) {
      file.without_faults = before->second.reached;
    }
    out.push_back(std::move(file));
  }
  return out;
}

nlohmann::ordered_json to_row(const Report& report) {
  OrderedJson services = OrderedJson::array();
  for (const ServiceReport& service : report.services) services.push_back(row(service));
  OrderedJson json{{"version", kVersion},
                   {"session", report.session},
                   {"config", report.config_path},
                   {"counts", row(report.counts())},
                   {"services", std::move(services)},
                   {"notes", report.notes}};
  redact_texts(&json);
  return json;
}

std::string to_json(const Report& report) {
  return to_row(report).dump(2, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

std::string to_text(const Report& report) {
  size_t width = std::string("service").size();
  size_t measured = 0;
  for (const ServiceReport& service : report.services) {
    width = std::max(width, service.service.size());
    measured += service.files.empty() ? 0 : 1;
  }
  std::string out;
  if (measured > 0) {
    out += "  " + left("service", width) +
           "  statements  without faults  with faults  only under faults  never\n";
    for (const ServiceReport& service : report.services) {
      if (!service.files.empty()) out += table_row(service.service, service.counts(), width);
    }
    if (measured > 1) out += table_row("all", report.counts(), width);
    out += list(report, "lines that only faults reach:", &FileReport::only_under_faults);
    out += list(report, "lines that nothing reached:", &FileReport::never);
  }
  for (const ServiceReport& service : report.services) {
    if (!service.reason.empty()) {
      out += "  no coverage for " + service.service + ": " + service.reason + "\n";
    }
    for (const std::string& note : service.notes)
      out += "  " + service.service + ": " + note + "\n";
  }
  for (const std::string& note : report.notes) out += "  " + note + "\n";
  return "coverage of statements\n" + out;
}

}  // namespace filibuster::coverage
