// Random numbers of which a secret is made, which no file may have: a token that the service gives away is its number in other letters.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace filibuster::record {

// Does one of the secrets have these bytes in it, in letters as programs write them: hexadecimal, base64 and its form for URLs, the digits
// of a UUID (RFC 9562 §5.4)? Fewer than 6 bytes are in many texts by chance, and make none.
bool makes_a_secret(std::string_view bytes,
                    const std::map<std::string, std::string, std::less<>>& secrets);

}  // namespace filibuster::record
