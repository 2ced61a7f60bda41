// Environment variables that a source reads. Nothing is evaluated: a variable counts if its name
// stands as a text in capitals where one is read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace filibuster::init {

struct VariableRead {
  std::string name;
  std::string file;   // as it is shown
  uint32_t line = 0;  // 0: it is no file
  // Nothing stands in for it: no default, and no condition that asks whether it is there.
  bool needed = true;
  std::optional<std::string> otherwise;  // the default, where it is a text or a number
  // Several services have the file in their folder, and which of them runs it is not known.
  bool shared = false;
};

// Capitals, digits and '_', as the names of nearly all variables.
bool is_variable_name(std::string_view text);
// Whether a file of this name is a source, or settings, whose reads are known.
bool may_read_variables(std::string_view path);
// In the order of the text:
//   os.environ["GATEWAY_URL"], os.getenv("PORT", 80)         process.env.PORT || 3000
//   System.getenv("DB_HOST"), env::var("A").unwrap_or("b")   ENV.fetch("REDIS_URL") { "..." }
//   mustMapEnv(&address, "CART_ADDR")                        ${DB_HOST:localhost} (Spring)
std::vector<VariableRead> variables_read(const std::string& path, std::string_view text);

}  // namespace filibuster::init
