// Places: call sites, each with the service that it calls, where a fault is or was to be injected. A call that never gets a
// fault is none. The line of the progress, the last lines and the report count them alike.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "daemon/model/injected_fault.h"
#include "daemon/model/search_counts.h"
#include "daemon/observe/observation.h"
#include "daemon/search/search.h"

namespace filibuster {

class FaultPlaces {
 public:
  struct Place {
    std::string caller, service;
    std::string call_site;  // "users.py:31 (get_movie)"; "": not known
    bool tried = false;     // an execution with a fault there has run
  };
  // The number of the RPC's place, which is known from now on.
  size_t add(const InjectedFault& rpc);
  // What the search has scheduled since, and, where it was resumed, what it has run.
  void see(const search::Search& search, KnownRpcs* known);
  // An execution with these faults has run.
  void ran(const search::AbstractExecution& execution, KnownRpcs* known);

  // In the order in which they became known.
  const std::vector<Place>& all() const { return all_; }
  search::Places counts() const;

 private:
  std::vector<Place> all_;
  std::map<std::tuple<std::string, std::string, std::string>, size_t> numbers_;
  search::AbstractId seen_ = 0;  // the last execution that was looked at
};

}  // namespace filibuster
