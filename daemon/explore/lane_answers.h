// Answers that carry a port of their lane ("http://127.0.0.1:21034/…") are another text on each lane, and
// mean the same. They are read as lane 0 would have given them.
#pragma once

#include <map>
#include <string>

#include "daemon/model/execution_record.h"
#include "daemon/process/ports.h"

namespace filibuster {

class LaneAnswers {
 public:
  // The automatic ports of a lane, and those of lane 0.
  LaneAnswers(const PortMap& lane, const PortMap& first);

  // Puts the ports of lane 0 into each answer whose text the record has whole, and gives the answer the
  // digest of that text. False: an answer is longer than its sample, so a port may stand in the rest;
  // `is_known` says of such a digest whether lane 0 has shown it.
  template <typename IsKnown>
  bool translate(ExecutionRecord* record, const IsKnown& is_known) const {
    bool sure = true;
    for (RpcRecord& rpc : record->rpcs) sure = (translate(&rpc) || is_known(rpc.response)) && sure;
    return sure;
  }
  // `text` with the ports of lane 0.
  std::string translated(const std::string& text) const;

 private:
  bool translate(RpcRecord* rpc) const;
  std::map<std::string, std::string> ports_;  // in decimal: of the lane -> of lane 0
};

}  // namespace filibuster
