// The normal form in which names and passwords are compared (SASLprep, RFC
// 4013, by libidn), as required by RFC 5802, 5.1 and RFC 4616, 4. Pure.
#pragma once
#include <string>
#include <string_view>

namespace auth {

// NFKC, odd blanks as blanks, what is not seen left out. What cannot be prepared (not UTF-8, control characters,
// both directions in one text, nothing left) comes back as it is: older passwords were never asked to be otherwise.
std::string saslprep(std::string_view text);

} // namespace auth
