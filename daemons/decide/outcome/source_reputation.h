// Does a refusal of mail (at MAIL or later) speak of the address we come from, rather than of the mail? Only who has
// another address to come from asks: it decides whether that is tried, never what becomes of the mail, which is the
// reply code's alone. So a wording that is not known costs a try, and one that is misread costs an address a rest.
// Pure: tables of enhanced codes and of wordings as servers of the world have them, and where they are from.
#pragma once
#include "daemons/decide/outcome/failure.h"
#include <string_view>

namespace decide {

struct SourceIdentity {
    std::string_view address; // "192.0.2.1", "2001:db8::1"
    std::string_view name;    // that EHLO had; in other letters it is the same
};

// `said`: the server's own words, in one line, with code and status or without.
// What in it speaks of the address ("5.7.606", "client host [", "192.0.2.1"); "": nothing, or something speaks
// against it. Lives as long as `from` and `seen` do.
std::string_view blames_source(const Observation& seen, std::string_view said, const SourceIdentity& from);

} // namespace decide
