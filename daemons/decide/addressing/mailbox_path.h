// Where the mailbox of a virtual user lies: the configured pattern with what is known of the user put in. Pure
// text; what senders wrote never leads out of the pattern's directories.
#pragma once
#include <string>
#include <string_view>

namespace decide {

// "maildir:/srv/mail/{domain}/{user}/", "mbox:/srv/mail/{value}": anything else is a next hop.
bool is_mailbox_pattern(std::string_view text);

// {user}: the local part without extension; {domain}; {value}: what the table of mailboxes says. "": the words
// cannot be parts of a path ("", "..", "/" in a name, longer than 255).
std::string mailbox_path(std::string_view pattern, std::string_view user, std::string_view domain,
                         std::string_view value);

// Is `place` what the pattern comes to for that user and domain, whatever a table may say of them?
bool is_mailbox_path(std::string_view pattern, std::string_view place, std::string_view user, std::string_view domain);

} // namespace decide
