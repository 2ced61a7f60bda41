// What stands in the place of a secret: a token, which has the form of its secret. Digits stay digits, letters stay letters of the same case, and all else stays;
//
//   a number of a payment card    keeps its first four digits, and a right sum; an IBAN its country, and a right sum
//   base64                        can be decoded; what was a text in it is a text
//   a JSON Web Token              its header, its times, `iss` and `aud`; all else in it is another text of the same form
//   UUID                          its version and variant
//   hexadecimal digits            are hexadecimal digits
//   an address of IPv4            is one
//   a key of a known service      keeps the letters that say whose key it is
//
// A token of eight letters or more has a mark: letters that follow from its others. So a secret that was written into a file by hand is told from the tokens
// beside it. Pure.
#pragma once

#include <string>
#include <string_view>

namespace filibuster::record {

// The same secret has the same token for the same `key`, and another one for another `round`.
std::string token_of(std::string_view secret, std::string_view key, unsigned round);
// The text with the mark of a token, which is a part of its letters.
std::string marked(std::string text);
// Does it have the mark of a token? One secret in ten thousand does by chance.
bool is_token(std::string_view text);
// Would it have the mark if it were a token, and has none?
bool lacks_mark(std::string_view text);
// The same text for all secrets, but that a number stays one.
std::string mask_of(std::string_view secret);

}  // namespace filibuster::record
