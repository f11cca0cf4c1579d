// The path of a virtual user's mailbox: the configured pattern with the user's values substituted. Pure text; nothing
// that a sender writes leads out of the pattern's directories.
#pragma once
#include <string>
#include <string_view>

namespace decide {

// "maildir:/srv/mail/{domain}/{user}/", "mbox:/srv/mail/{value}": anything else is a next hop.
bool is_mailbox_pattern(std::string_view text);

// {user}: the local part without extension; {domain}; {value}: the value in the mailbox table. "": the values cannot be
// parts of a path ("", "..", "/" in a name, longer than 255).
std::string mailbox_path(std::string_view pattern, std::string_view user, std::string_view domain,
                         std::string_view value);

// Is `place` what the pattern yields for that user and domain, for any value that a table may have?
bool is_mailbox_path(std::string_view pattern, std::string_view place, std::string_view user, std::string_view domain);

} // namespace decide
