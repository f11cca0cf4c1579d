// International names: domains in the letters of the DNS (IDNA 2008 by libidn2), and local
// parts in the normal form in which our own are compared (libunistring). Pure. Mail itself
// is never changed by these (RFC 6530, 6531): they are for lookups and comparisons only.
#pragma once
#include <string>
#include <string_view>

namespace idn {

// "bücher.example" and "BÜCHER.example" are "xn--bcher-kva.example", ASCII only becomes lower case; address
// literals and names that only look odd are let through. "": no name of the DNS can stand for it.
std::string ascii_domain(std::string_view domain);

// NFC, and all letters small: "Jo\u0308rg" and "JÖRG" are "jörg". What is not UTF-8: only ASCII's letters.
std::string folded(std::string_view name);

} // namespace idn
