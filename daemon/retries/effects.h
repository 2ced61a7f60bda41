// Whether a call reads or writes at its server, and whether it may be done twice, as far as its request tells. Most
// interfaces say it by their method. Those of the cloud services say it elsewhere: in a header field, in a form, in the
// query. What is known of them is data (effects.cc); docs/suite.md lists it. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "daemon/model/execution_record.h"

namespace filibuster::retries {

enum class Effect : uint8_t {
  kUnknown = 0,
  kRead,        // the server keeps nothing of it
  kRepeatable,  // it writes, and done twice it leaves what it leaves when done once
  kWrite,       // done twice it leaves something else
};
std::string_view effect_name(Effect effect);

Effect effect_of(const RpcRecord& rpc);

// "GetItem" of "X-Amz-Target: DynamoDB_20120810.GetItem" and of a form with "Action=GetItem"; "": it names no operation.
std::string operation_of(const RpcRecord& rpc);
// call_name() of the path, and the operation where there is one: "POST / (GetItem)".
std::string name_of_call(const RpcRecord& rpc);

}  // namespace filibuster::retries
