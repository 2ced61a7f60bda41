// The data in requests and answers, as far as records keep it: the target, and the first bytes of
// bodies (kBodySample in preload/protocols/http1/exchange.h). JSON, forms and short plain texts are
// read; compressed and other bodies count as holding no values.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "daemon/model/execution_record.h"

namespace filibuster::lint {

struct Value {
  std::string text;  // a JSON string without its escapes, a number as it is written
  // The nearest member name, "id"; for a value of a request "path", "query argument 'id'", ...
  std::string name;
};

struct Body {
  std::vector<Value> values;
  std::vector<std::string> names;  // all member names
  bool whole = false;              // nothing of the body is missing, and it was understood
};

// `whole` says that `sample` is the whole body.
Body read_body(std::string_view sample, bool whole);
Body answer_of(const RpcRecord& rpc);
// Segments of the path, the path itself, arguments of the query, values of the body.
std::vector<Value> values_of_request(const RpcRecord& rpc);

// True if the text is long and rare enough to show that it was passed on when it is seen twice.
bool is_telling(std::string_view text);

}  // namespace filibuster::lint
