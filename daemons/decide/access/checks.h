// Rules that decide by what is known about the session and by the DNS, without tables. Pure.
#pragma once
#include "daemons/decide/access/facts.h"
#include "daemons/decide/access/lookup.h"
#include "daemons/decide/access/rule.h"
#include "libsmtp/protocol/reply.h"
#include <string>

namespace decide::access {

struct Finding {
    enum class Kind : std::uint8_t { nothing, permit, reject, defer_if_permit, defer_if_reject, pending };
    Kind kind = Kind::nothing;
    smtp::Reply reply = {};   // reject, defer_if_…
    std::string warning = {}; // for the log: why a table did not answer
};

// Not of tables, policy services and classes. `about`: the rule's subject.
Finding check(const Rule& rule, const Facts& facts, List list, const About& about, Questions& questions);

} // namespace decide::access
