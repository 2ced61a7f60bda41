// The file that keeps the search of a test, and whether an interrupted search may go on: only if the application is the
// same. The files of the programs are compared here, the new reference execution with the old one in search_reference.cc.
#pragma once

#include <map>
#include <string>

#include "daemon/explore/exploration.h"
#include "daemon/explore/sent_mutations.h"

namespace filibuster {

// Name of the folder that keeps a test's search: 16 hexadecimal digits of a hash of the test's name,
// its configuration and the options that decide what is explored.
std::string session_digest(const Config& config, const std::string& config_text,
                           const std::string& test);

class StoredSearch {
 public:
  // Both outlive it.
  StoredSearch(ExplorationState* state, SentMutations* mutations)
      : state_(*state), mutations_(*mutations), suspects_(state->session.suspects) {}

  // Opens the store and the search of `state`, with what an earlier session has kept.
  Result<void> open();
  // Forgets all of it, since the application is another one, and opens it empty.
  Result<void> begin_anew(const std::string& why);
  // `finished`: the next run of the same command begins anew. Else it goes on.
  Result<void> close(bool finished);
  // The files of services that were started by hand, found by their processes, with their digests.
  std::map<std::string, std::string> files_by_hand() const;

 private:
  Result<void> open(bool restart);
  Result<void> open_file(const std::string& path);
  Result<void> load_results();
  Result<std::string> files_changed();  // what differs; "": nothing
  Result<void> note_changed_files();
  Result<void> keep_suspects(bool goes_on);
  void tell_why_anew(const std::string& why);
  void tell_if_configured_otherwise(const std::string& folder);
  void tell_session();

  ExplorationState& state_;
  SentMutations& mutations_;
  Suspects suspects_;                         // a copy: files that have changed are added
  std::map<std::string, std::string> files_;  // files of the programs -> their digests
};

}  // namespace filibuster
