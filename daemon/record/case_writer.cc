#include "daemon/record/case_writer.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <tuple>
#include <utility>

#include "core/protocol/draws.h"
#include "daemon/base/fail_point.h"
#include "daemon/cases/case_folder.h"
#include "daemon/cases/identity.h"
#include "daemon/cases/route.h"
#include "daemon/process/session_lane.h"

namespace filibuster::record {
namespace {

namespace fs = std::filesystem;

// Beyond these, calls that come by themselves are counted and not kept.
constexpr size_t kMostOfProcess = 1000;
constexpr size_t kMostOpenings = 100;  // of one service
constexpr const char kPartial[] = "partial";
// By which a file may grow when it is known how often its case was seen.
constexpr uint64_t kMostDigits = 20;

Hash128 content_of(const cases::WrittenFile& file) {
  Hash128 out = hash_text(file.text);
  for (const auto& [name, bytes] : file.beside) out = combine(out, hash_text(bytes));
  return out;
}

// What tells a case from others: all but when and how often it was seen, and random numbers that have led to the same.
Hash128 content_of(const cases::Case& value) {
  cases::Case other = value;
  other.base_us = 0;
  other.seen = 1;
  other.draws.clear();
  return content_of(cases::write_case(other, "x"));
}

uint64_t bytes_below(const std::string& folder) {
  uint64_t out = 0;
  std::error_code failed;
  for (fs::recursive_directory_iterator at(folder, failed), end; !failed && at != end;
       at.increment(failed)) {
    std::error_code ignored;
    if (at->is_regular_file(ignored)) out += at->file_size(ignored);
  }
  return out;
}

std::string text_of(const cases::Call& call) {
  cases::ProcessRecord one;
  one.calls = {call};
  return cases::write_process(one).text;
}

}  // namespace

std::string why_not_into(const std::string& folder) {
  std::error_code failed;
  const auto status = fs::status(folder, failed);
  if (status.type() == fs::file_type::not_found) return "";
  if (status.type() != fs::file_type::directory) return "it is no folder";
  if (fs::exists(folder + "/" + std::string(cases::kSetName) + ".json", failed))
    return "it has a recording already (set.json): choose another folder, or remove that one";
  return "";
}

Result<std::unique_ptr<CaseWriter>> CaseWriter::make(const std::string& folder, cases::CaseSet set,
                                                     uint64_t most_bytes) {
  auto rules = cases::rules_of(set);
  if (!rules) return rules.error();
  if (const std::string why = why_not_into(folder); !why.empty())
    return Error{"cannot record into " + folder + ": " + why};
  std::unique_ptr<CaseWriter> out(
      new CaseWriter(folder, std::move(set), std::move(rules).value(), most_bytes));
  out->process_.service = out->set_.service;
  std::error_code unknown;
  out->was_there_ = fs::exists(folder, unknown);
  if (auto made = out->make_folder(folder); !made) return made.error();
  if (auto written = out->write_set(); !written) return written.error();
  return out;
}

Result<std::unique_ptr<CaseWriter>> CaseWriter::replace(const std::string& folder,
                                                        cases::CaseSet set,
                                                        cases::ProcessRecord process,
                                                        std::vector<std::string> before,
                                                        uint64_t most_bytes) {
  auto rules = cases::rules_of(set);
  if (!rules) return rules.error();
  std::unique_ptr<CaseWriter> out(
      new CaseWriter(folder, std::move(set), std::move(rules).value(), most_bytes));
  out->process_ = std::move(process);
  out->replaced_ = std::move(before);
  // The partial ones stay beside what is added.
  if (most_bytes != kAnySize)
    out->room_ -= std::min(out->room_, bytes_below(folder + "/" + std::string(kPartial)));
  return out;
}

Result<void> CaseWriter::make_folder(const std::string& path) const {
  std::error_code failed;
  fs::create_directories(path, failed);
  if (failed) return Error{"cannot make " + path + ": " + failed.message()};
  return {};
}

// False: it would be more than there may be.
bool CaseWriter::takes_room(const cases::WrittenFile& file) {
  uint64_t bytes = file.text.size() + kMostDigits;
  for (const auto& [name, beside] : file.beside) bytes += beside.size();
  if (bytes > room_) return false;
  if (room_ != kAnySize) room_ -= bytes;
  return true;
}

Result<void> CaseWriter::add(cases::Case value) {
  const bool whole = value.partial.empty();
  const auto count = [&] {
    if (!whole) counts_.by_reason[value.partial] += value.seen;
    (whole ? counts_.whole : counts_.partial) += value.seen;
  };
  const Hash128 content = content_of(value);
  if (const auto known = rows_.find(content); known != rows_.end()) {
    count();
    known->second.seen += value.seen;
    last_name_ = known->second.name;
    if (whole) counts_.equal += value.seen;
    return {};
  }
  const std::string route = cases::route_of(value.request.method, value.request.target);
  const std::string folder =
      folder_ + "/" + (whole ? "" : std::string(kPartial) + "/") + cases::route_folder(route);
  std::set<std::string>& names = names_in(folder);
  // A case that asks the same and is answered otherwise has a name of its own.
  const Hash128 asked = cases::hash_of_case(value, rules_);
  std::string name = cases::case_name(asked, {});
  if (names.contains(name)) name = cases::case_name(combine(asked, content), names);
  const cases::WrittenFile file = cases::write_case(value, name);
  if (!takes_room(file)) {
    counts_.without_room += value.seen;
    last_name_.clear();
    return {};
  }
  count();
  if (whole) counts_.equal += value.seen - 1;
  if (auto made = make_folder(folder); !made) return made;
  if (auto saved = cases::save_file(folder, file); !saved) return saved;
  fail_point("case");
  names.insert(name);
  last_name_ = name;
  rows_.emplace(content, Row{content, folder, name, value.seen, value.seen});
  written_.insert(folder + "/" + name + ".json");
  for (const auto& [beside, bytes] : file.beside) written_.insert(folder + "/" + beside);
  if (whole) ++counts_.by_route[route];
  return {};
}

// The partial cases that are there already keep their names.
std::set<std::string>& CaseWriter::names_in(const std::string& folder) {
  const auto [names, is_new] = names_.try_emplace(folder);
  if (is_new && folder.starts_with(folder_ + "/" + kPartial)) {
    std::error_code failed;
    for (fs::directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed))
      names->second.insert(at->path().stem().string());
  }
  return names->second;
}

// A file that was written anew stays. Of the others, what is beside them goes with them.
Result<void> CaseWriter::remove_replaced() const {
  std::error_code failed;
  for (const std::string& path : replaced_) {
    if (written_.contains(path)) continue;
    const fs::path file(path);
    const std::string beside = file.stem().string() + ".";
    for (fs::directory_iterator at(file.parent_path(), failed), end; !failed && at != end;
         at.increment(failed)) {
      const std::string name = at->path().filename().string();
      std::error_code ignored;
      if (name.starts_with(beside) && name.ends_with(".bin") &&
          !written_.contains(at->path().string()))
        fs::remove(at->path(), ignored);
    }
    if (fs::remove(file, failed); failed)
      return Error{"cannot remove " + path + ": " + failed.message()};
    std::error_code ignored;
    fs::remove(file.parent_path(), ignored);  // where nothing is left in it
  }
  return {};
}

Result<void> CaseWriter::add_process(cases::Call call) {
  call.after.clear();
  cases::Call asked = call;
  asked.answer = {};
  asked.reply.reset();
  if (process_.calls.size() >= kMostOfProcess) return {};
  // A poll that gets the same again says nothing new.
  const auto [last, is_first] = last_of_process_.try_emplace(text_of(asked));
  const Hash128 now = hash_text(text_of(call));
  if (!is_first && last->second == now) return {};
  last->second = now;
  if (!process_.calls.empty()) call.after = {process_.calls.size() - 1};
  process_.calls.push_back(std::move(call));
  process_changed_ = true;
  return {};
}

Result<void> CaseWriter::add_opening(const std::string& service, cases::Opening opening) {
  std::set<std::string>& known = opened_[service];
  const std::string command = opening.command.dump();
  if (known.size() >= kMostOpenings || !known.insert(command).second) return {};
  process_.openings[service].push_back(std::move(opening));
  process_changed_ = true;
  return {};
}

void CaseWriter::add_process_draw(cases::Draw draw) {
  if (process_.draws.size() >= kMaxDraws) return;
  process_.draws.push_back(std::move(draw));
  process_changed_ = true;
}

void CaseWriter::add_draw_point(cases::DrawPoint point) {
  const auto same = std::find_if(set_.draws.begin(), set_.draws.end(), [&](const auto& each) {
    return each.source == point.source && each.site == point.site;
  });
  if (same == set_.draws.end()) set_.draws.push_back(std::move(point));
}

void CaseWriter::set_unfit(const cases::Draw& draw) {
  for (cases::DrawPoint& each : set_.draws) {
    if (each.source == draw.source && each.site == draw.site)
      each.effect = cases::DrawPoint::Effect::kUnfit;
  }
}

void CaseWriter::add_point(cases::Point point) {
  const auto same = [&](const cases::Point& each) {
    return each.site == point.site && each.kind == point.kind;
  };
  if (std::none_of(set_.points.begin(), set_.points.end(), same))
    set_.points.push_back(std::move(point));
}

Result<void> CaseWriter::write_set() {
  // In an order that does not depend on when each was seen.
  std::sort(set_.points.begin(), set_.points.end(), [](const auto& a, const auto& b) {
    return std::pair(a.stack, a.site) < std::pair(b.stack, b.site);
  });
  std::sort(set_.draws.begin(), set_.draws.end(), [](const auto& a, const auto& b) {
    return std::tie(a.stack, a.site, a.source) < std::tie(b.stack, b.site, b.source);
  });
  set_.not_followed.assign(not_followed_.begin(), not_followed_.end());
  const std::string text = cases::write_set(set_);
  if (text != set_text_) {
    if (auto written = write_file(folder_ + "/" + std::string(cases::kSetName) + ".json", text);
        !written)
      return written;
    set_text_ = text;
  }
  if (!process_changed_) return {};
  if (auto saved = cases::save_file(folder_, cases::write_process(process_)); !saved) return saved;
  process_changed_ = false;
  return {};
}

Result<void> CaseWriter::finish() {
  for (auto& [content, row] : rows_) {
    if (row.seen == row.written) continue;
    const std::string path = row.path + "/" + row.name + ".json";
    cases::ReadCase read = cases::load_case(path);
    // Of a partial one the answer may be missing.
    if (!read.errors.empty() && row.path.starts_with(folder_ + "/" + kPartial)) continue;
    if (!read.errors.empty())
      return Error{path + " is not as it was written: " + read.errors.front().message};
    read.value.seen = row.seen;
    if (auto saved = cases::save_file(row.path, cases::write_case(read.value, row.name)); !saved)
      return saved;
    row.written = row.seen;
  }
  if (!replaced_.empty()) {
    if (auto removed = remove_replaced(); !removed) return removed;
  } else if (counts_.whole + counts_.partial == 0) {
    // Nothing came: the folder is as free as it was.
    std::error_code ignored;
    for (const std::string_view name : {cases::kSetName, cases::kProcessName})
      fs::remove(folder_ + "/" + std::string(name) + ".json", ignored);
    if (!was_there_) fs::remove(folder_, ignored);
    return {};
  }
  set_.counts["cases"] = counts_.whole - counts_.equal;
  set_.counts["seen"] = counts_.whole;
  set_.counts["partial"] += counts_.partial;
  return write_set();
}

}  // namespace filibuster::record
