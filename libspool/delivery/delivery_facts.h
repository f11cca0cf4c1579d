// The facts about a recipient and its delivery, in the same terms for every part of the system: the message's file, the
// protocols between daemons, the decisions. Values on disk: their numbers are part of FORMAT.md.
#pragma once
#include "libsmtp/delivery/outcome.h"
#include <cstdint>

namespace spool {

using smtp::Outcome;

// A recipient's fate, as decided by the categorizer. unknown: not looked up yet, or not available now; looked up again.
enum class Fate : std::uint8_t { unknown, remote, local, discard, failed, last_ = failed };

// The report of success that this host sends for a delivery, to a sender that asked for one (RFC 3461).
enum class SuccessReport : std::uint8_t {
    none,      // not requested, or a server further on has taken it over
    delivered, // it has reached its destination
    relayed,   // it was sent on to a server that does not report success
    last_ = relayed,
};

// What the submitter wants to have reported in addition to NOTIFY (sendmail -v, -bv).
enum class Trace : std::uint8_t {
    none,
    first_try, // the result of the first try, for each recipient
    verify,    // the expected result: nothing is delivered
    last_ = verify,
};

// How the waits between a message's tries follow one another.
enum class RetryKind : std::uint8_t {
    exchange,    // the retry schedule
    exponential, // base, base·factor, base·factor² …
    fixed,       // interval for ever
    steps,       // each of `steps` once, then no more
    last_ = steps,
};

} // namespace spool
