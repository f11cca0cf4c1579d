// The lane and the pool of a message by the rules for its sender, submitter, listener and Precedence field, and
// whether its submitter may ask for others. Pure: rules and facts in, the envelope changed.
#pragma once
#include "daemons/common/config/sections/server/sender_rules.h"
#include "daemons/common/submission/control_fields.h"
#include "libspool/format/envelope.h"
#include <string>
#include <string_view>

namespace common {

// What the rules examine beside the envelope.
struct RuledMail {
    Submitter submitter = Submitter::stranger;
    std::string_view precedence; // the field's value, in lower case; "" without one
};

// After choose_pool() and apply_sender_requests(). Sets lane and pool where nothing has asked for one, and by what they
// were chosen; returns what is wrong with what was asked for, "" nothing.
std::string apply_sender_rules(const config::SenderRules& rules, const RuledMail& mail, spool::Envelope& envelope);

} // namespace common
