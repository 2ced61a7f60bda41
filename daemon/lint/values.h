// The data in requests and answers, as far as records keep it: the target, and the first bytes of
// bodies (kBodySample of preload/protocols). JSON is read, and forms, and short plain texts;
// compressed and other bodies hold no values.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "daemon/agents/execution_record.h"

namespace filibuster::lint {

struct Value {
  std::string text;  // a JSON string without its escapes, a number as it is written
  std::string name;  // the nearest member name: "id"; of a request "path", "query 'id'"
};

struct Body {
  std::vector<Value> values;
  std::vector<std::string> names;  // all member names
  bool whole = false;              // nothing of it is missing, and it was understood
};

// `whole`: `sample` is not cut.
Body read_body(std::string_view sample, bool whole);
Body answer_of(const RpcRecord& rpc);
// Segments of the path, the path itself, arguments of the query, values of the body.
std::vector<Value> values_of_request(const RpcRecord& rpc);

// Long enough, and not a word that stands in many programs, to tell that it was passed on.
bool is_telling(std::string_view text);

// "%20" -> " "; an escape that is none stays.
std::string percent_decoded(std::string_view text, bool plus_is_blank);

}  // namespace filibuster::lint
