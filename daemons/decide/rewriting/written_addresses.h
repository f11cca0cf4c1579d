// Turns addresses as people write them in tables and lists into envelope addresses: "Ann Smith <ann@x>", "(at home)
// ann", "friends: ann, bob;", "ann bob", "ann@X.". The forms are those that Postfix accepts in aliases(5) and
// virtual(5). Pure text: knows neither tables nor recipients.
#pragma once
#include "libsmtp/text/text.h"
#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace decide {

// Takes one item off the front of `text`, which is not empty: up to a comma or semicolon outside quotes, comments and
// brackets. The name of a group before it ("friends:") is left out. May be "", or only blanks.
std::string_view take_list_item(std::string_view& text);

// The addresses of one item, as Mailbox::parse_bare_allowed() takes them: "local@domain" or a local part alone, in
// quotes where required. None: only comments. An error says which part is not a valid address, and why, in one
// printable line.
std::expected<std::vector<std::string>, smtp::Malformed> addresses_in_item(std::string_view item);

} // namespace decide
