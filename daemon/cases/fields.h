// Requests and answers as lists of fields, each with a place that people can look up in the file of
// a case and a value. Everything that is compared is compared by these: keys are their hash, and a
// difference is the list of those that are not equal.
//
// The order of members of an object, and of the parameters of a query or form, is no part of it,
// nor is how a text is escaped. Numbers are compared as they are written. What is masked is one
// field, whatever is in it: its value is its type ("a number"), or '*' where it may have any.
// Elements of a list without an order are numbered by what is in them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/hash.h"
#include "daemon/cases/masks.h"
#include "daemon/cases/model.h"

namespace filibuster::cases {

struct Field {
  std::string pointer;  // RFC 6901: "/json/items/0/id", "/query/page", "/call/1", "/status"
  std::string value;    // a token of JSON, or a short word for what has no other form
  bool operator==(const Field&) const = default;
};
using Fields = std::vector<Field>;

// Rules of a set, for one service.
struct Rules {
  std::string service;                     // whose cases these are
  std::vector<std::string> match_headers;  // in lower case
  Masks masks;
  std::vector<std::string> varying_headers = {}, optional_headers = {};  // in lower case
  Masks any_type = {}, unordered = {};
};
Result<Rules> rules_of(const CaseSet& set);

// Of a call of the service.
Fields input_fields(const CallInput& input, const Rules& rules);
// Of the request that the service itself gets.
Fields entry_fields(const Request& request, const Rules& rules);
// Of the service's answer to `request`.
Fields answer_fields(const Answer& answer, const Request& request, const Rules& rules);

// Is this the value of a masked field?
bool is_masked_value(std::string_view value);

// Whatever order they have.
Hash128 hash_of(Fields fields);

struct FieldDifference {
  std::string pointer;
  std::string recorded, now;  // "": there is no such field
  bool operator==(const FieldDifference&) const = default;
};
// In the order of what was recorded; behind them what is new.
std::vector<FieldDifference> differences(const Fields& recorded, const Fields& now);
// "/json/name: \"Eve\", not \"Bob\"; /json/id is missing": at most `most` of them.
std::string to_text(const std::vector<FieldDifference>& differences, size_t most = 8);

}  // namespace filibuster::cases
