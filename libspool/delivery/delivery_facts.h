// The facts about a recipient and its delivery, in the same terms for every part of the system: the message's
// file, the conversations between daemons, the decisions. Values on disk: their numbers are part of FORMAT.md.
#pragma once
#include "libsmtp/delivery/outcome.h"
#include <cstdint>

namespace spool {

using smtp::Outcome;

// What becomes of a recipient by the categorizer's word. unknown: not asked yet, or it cannot be found out
// now; asked again.
enum class Fate : std::uint8_t { unknown, remote, local, discard, failed, last_ = failed };

// The report of success that this host sends for a delivery, to a sender that asked for one (RFC 3461).
enum class SuccessReport : std::uint8_t {
    none,      // did not ask, or a server further on has taken it over
    delivered, // it is where it was going
    relayed,   // it has left for where nobody reports success
    last_ = relayed,
};

// What the submitter wants to be told beside what NOTIFY says (sendmail -v, -bv).
enum class Trace : std::uint8_t {
    none,
    first_try, // what the first try came to, for each recipient
    verify,    // what would become of it: nothing is delivered
    last_ = verify,
};

// How the waits between a message's tries follow one another.
enum class RetryKind : std::uint8_t {
    exchange,    // the ladder
    exponential, // base, base·factor, base·factor² …
    fixed,       // interval for ever
    steps,       // each of `steps` once, then no more
    last_ = steps,
};

} // namespace spool
