// What a command's end means for the mail it was given: exit statuses as sysexits.h has them, in the words that
// tools know from elsewhere. Pure.
#pragma once
#include "daemons/local/mailbox/mailbox.h"
#include <string_view>

namespace local {

// Output on one line: what is not printable is "_", line ends and tabs are blanks, none at the ends.
std::string on_one_line(std::string_view output);

// `status` as waitpid(2) tells it; `output` on one line. A command that fails may say a status and a reason of
// its own, "4.2.2 mailbox full": they are taken.
Verdict verdict_of_exit(int status, std::string_view command, std::string_view output);
Verdict verdict_of_timeout(std::string_view command, std::string_view output);

} // namespace local
