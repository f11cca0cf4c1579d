// Is a rejection of mail (at MAIL or later) about our source address rather than about the mail? Only asked if there is
// another source address to try: it decides whether that one is tried, never the outcome for the mail, which depends on
// the reply code alone. So an unknown wording costs a try, and a misread one makes an address back off. Pure: tables of
// enhanced codes and wordings used by real servers, and where they are from.
#pragma once
#include "daemons/decide/outcome/failure.h"
#include <string_view>

namespace decide {

struct SourceIdentity {
    std::string_view address; // "192.0.2.1", "2001:db8::1"
    std::string_view name;    // used in EHLO; compared ignoring case
};

// `said`: the server's reply text, in one line, with or without code and status. Returns the part that refers to the
// address ("5.7.606", "client host [", "192.0.2.1"); "": nothing does, or something contradicts it. Lives as long as
// `from` and `seen` do.
std::string_view blames_source(const Observation& seen, std::string_view said, const SourceIdentity& from);

} // namespace decide
