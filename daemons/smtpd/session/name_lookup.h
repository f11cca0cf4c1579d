// Looks up the name of a client while its session waits for it. Must not know the session.
#pragma once
#include "daemons/common/net/dns/resolver.h"
#include "daemons/common/net/network.h"
#include "daemons/common/runtime/timer.h"
#include "daemons/smtpd/policy/settings.h"
#include "libsmtp/text/time_types.h"
#include <functional>
#include <memory>
#include <string>

namespace smtpd {

// Whether clients of that address have their name looked up.
bool wants_name(const Settings& settings, const common::IpAddress& address);

class NameLookup {
public:
    // Once, unless abandoned; names that it has not, or not in time, are "".
    using Done = dns::ClientName::Done;
    NameLookup(std::shared_ptr<dns::Resolver> resolver, common::Deadlines& deadlines, const common::IpAddress& address,
               smtp::Monotonic until, Done done);
    NameLookup(const NameLookup&) = delete;

    bool pending() const { return done_ != nullptr; }
    void abandon();

private:
    void finish(const dns::ClientName::Names& names);

    Done done_;
    std::shared_ptr<dns::Resolver> resolver_; // outlives the lookup
    common::Deadline deadline_;
    dns::ClientName lookup_;
};

} // namespace smtpd
