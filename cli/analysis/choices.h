// The values that an expression may have, as far as its syntax tells.
#pragma once

#include <vector>

#include "cli/analysis/source.h"

namespace filibuster::analysis {

// The expression that begins at a token: up to the comma, semicolon, bracket or line that ends it.
Span expression_at(const Source& source, uint32_t at);

// The values that the Python `return` at a token may return, without the parentheses around them.
std::vector<Span> tuples_returned(const Source& source, uint32_t at);

// The values that an expression may have: a and b for `a || b`, `a ?? b`, `a or b`, `c ? a : b` and
// `a if c else b`. Any other expression is its only value.
std::vector<Span> choices_of(const Source& source, Span expression);

}  // namespace filibuster::analysis
