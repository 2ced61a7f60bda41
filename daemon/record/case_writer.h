// The files of a recording: set.json, process.json, a file for each different case in a folder for its route, and what is not whole under
// partial/. Each file is there whole or not at all. Cases that are equal are one file, which says how often it was seen.
//
//   auto writer = CaseWriter::make(options);
//   writer->add(recorded);           // redacted, and its sites found
//   writer->finish();                // how often each was seen
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/hash.h"
#include "core/result.h"
#include "daemon/cases/case_file.h"
#include "daemon/cases/fields.h"
#include "daemon/cases/model.h"

namespace filibuster::record {

inline constexpr uint64_t kAnySize = std::numeric_limits<uint64_t>::max();

// Why a recording cannot be written there; "": it can.
std::string why_not_into(const std::string& folder);

class CaseWriter {
 public:
  // `set`: what is known at the beginning. Makes the folder. `most_bytes`: the files of cases have no more of them in all; a new case
  // for which there is no room is left out, whole.
  static Result<std::unique_ptr<CaseWriter>> make(const std::string& folder, cases::CaseSet set,
                                                  uint64_t most_bytes = kAnySize);
  // In the place of what the folder has: the whole cases there that are not added again are gone behind finish(). `before`: their files.
  static Result<std::unique_ptr<CaseWriter>> replace(const std::string& folder, cases::CaseSet set,
                                                     cases::ProcessRecord process,
                                                     std::vector<std::string> before,
                                                     uint64_t most_bytes = kAnySize);

  Result<void> add(cases::Case value);
  // Of the file of the case that was added last; "": there was no room for it.
  const std::string& last_name() const { return last_name_; }
  Result<void> add_process(cases::Call call);
  Result<void> add_opening(const std::string& service, cases::Opening opening);
  void add_point(cases::Point point);
  void add_process_draw(cases::Draw draw);
  void add_draw_point(cases::DrawPoint point);
  // What is drawn there, as by this one, makes a secret.
  void set_unfit(const cases::Draw& draw);
  void set_host(cases::HostEvidence host) { set_.host = std::move(host); }
  void set_time(cases::TimeEvidence time) { set_.time = std::move(time); }
  void add_not_followed(const std::string& text) { not_followed_.insert(text); }
  // set.json and process.json, where they have changed.
  Result<void> write_set();
  // How often each case was seen, and the counts of the set.
  Result<void> finish();

  struct Counts {
    std::map<std::string, uint64_t> by_route;    // different whole cases
    std::map<std::string, uint64_t> by_reason;   // partial ones, each time
    uint64_t whole = 0, equal = 0, partial = 0;  // of what is in the files
    uint64_t without_room = 0;                   // new ones, each time
  };
  const Counts& counts() const { return counts_; }
  const cases::ProcessRecord& process() const { return process_; }

 private:
  struct Row {
    Hash128 content;
    std::string path;  // of its folder, and of its name
    std::string name;
    uint64_t seen = 1, written = 1;
  };
  CaseWriter(std::string folder, cases::CaseSet set, cases::Rules rules, uint64_t most_bytes)
      : folder_(std::move(folder)),
        set_(std::move(set)),
        rules_(std::move(rules)),
        room_(most_bytes),
        not_followed_(set_.not_followed.begin(), set_.not_followed.end()) {}
  Result<void> make_folder(const std::string& path) const;
  std::set<std::string>& names_in(const std::string& folder);
  Result<void> remove_replaced() const;
  bool takes_room(const cases::WrittenFile& file);

  const std::string folder_;
  cases::CaseSet set_;
  const cases::Rules rules_;
  bool was_there_ = false;  // the folder, before the recording
  uint64_t room_;           // bytes that are left for cases
  cases::ProcessRecord process_;
  std::set<std::string> not_followed_;
  std::string set_text_;
  bool process_changed_ = true;
  std::map<Hash128, Row> rows_;                         // by content
  std::map<std::string, std::set<std::string>> names_;  // by folder
  std::vector<std::string> replaced_;                   // files
  std::set<std::string> written_;                       // files
  std::string last_name_;
  std::map<std::string, Hash128>
      last_of_process_;  // what a call of the process got last, by what it asks
  std::map<std::string, std::set<std::string>> opened_;  // by service
  Counts counts_;
};

}  // namespace filibuster::record
