// Variables in the values of compose files, `.env` files and Dockerfiles.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "cli/init/draft.h"

namespace filibuster::init {

// Puts values in the place of $NAME, ${NAME}, ${NAME:-otherwise}, ${NAME-otherwise},
// ${NAME:+instead}, ${NAME+instead}, ${NAME:?message} and ${NAME?message}, and `$` in the place of
// `$$` (compose-spec, 'Interpolation'). A text in braces may hold
// variables itself. What is none of these stays as it is.
class Interpolator {
 public:
  explicit Interpolator(ReadVariable variable) : variable_(std::move(variable)) {}

  std::string operator()(std::string_view text) { return replaced(text, 0); }
  std::optional<std::string> value(const std::string& name) const { return variable_(name); }

  // Variables that have no value and no default, and count as empty; what ${NAME:?message} says.
  const std::set<std::string>& unset() const { return unset_; }
  const std::map<std::string, std::string>& required() const { return required_; }
  // The values are longer than those of any real file: variables that hold each other twice grow
  // without an end.
  bool too_long() const { return written_ > kLongest; }

 private:
  static constexpr size_t kLongest = size_t{4} << 20;  // bytes of all values together
  static constexpr int kDeepest = 32;

  std::string replaced(std::string_view text, int depth);
  std::string braced(std::string_view inside, int depth);

  ReadVariable variable_;
  std::set<std::string> unset_;
  std::map<std::string, std::string> required_;
  size_t written_ = 0;
};

// Lines KEY=VALUE of a `.env` file or an env_file. A value is as it stands between single quotes;
// elsewhere it may hold variables: those that `values` knows, and those of earlier lines.
void add_variables(std::string_view text, const ReadVariable& variable,
                   std::map<std::string, std::string>* out);

}  // namespace filibuster::init
