// What an expression may come to, as far as its form tells.
#pragma once

#include <vector>

#include "cli/analysis/source.h"

namespace filibuster::analysis {

// The expression that begins at a token: up to the comma, semicolon, bracket or line that ends it.
Span expression_at(const Source& source, uint32_t at);

// Of Python's `return` at a token: what it may return, each without the parentheses around it.
std::vector<Span> tuples_returned(const Source& source, uint32_t at);

// Of `a || b`, `a ?? b`, `a or b`: both. Of `c ? a : b` and `a if c else b`: a and b. Of anything
// else: itself.
std::vector<Span> choices_of(const Source& source, Span expression);

}  // namespace filibuster::analysis
