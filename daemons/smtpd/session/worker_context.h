// What the connections of one smtpd worker share. Outlives them.
#pragma once
#include "daemons/common/logging/log.h"
#include "daemons/common/net/dns/resolver.h"
#include "daemons/common/runtime/loop.h"
#include "daemons/common/runtime/timer.h"
#include "daemons/common/submission/idempotency/client.h"
#include "daemons/common/submission/rate_limits.h"
#include "daemons/common/submission/recipient_checker.h"
#include "daemons/common/submission/spool_writer.h"
#include "daemons/common/submission/submission_queue.h"
#include "daemons/smtpd/access/client_limits.h"
#include "daemons/smtpd/access/client_memory.h"
#include "daemons/smtpd/access/door_events.h"
#include "daemons/smtpd/auth/authentication.h"
#include "daemons/smtpd/auth/lockouts.h"
#include "daemons/smtpd/intake/date_text.h"
#include "daemons/smtpd/policy/address_verifier.h"
#include "daemons/smtpd/policy/rules.h"
#include "daemons/smtpd/session/dns_list_failures.h"
#include "libsmtp/text/time_types.h"
#include <memory>
#include <string>

namespace smtpd {

class Connection;
struct PolicySources;

struct WorkerContext {
    common::Loop& loop;
    common::Log& log;
    common::Deadlines& deadlines;
    common::SpoolWriter& spool_writer;
    common::RecipientChecker& checker;
    AddressVerifier& verifier;
    common::SubmissionQueue& submission_queue;
    common::idempotency::Client& keys;
    common::Metrics& metrics;
    std::shared_ptr<dns::Resolver> resolver; // of the current configuration
    std::uint32_t instance = 0;
    DateText date = {};
    std::uint64_t sessions = 0; // so far
    bool stressed = false;
    ClientLimits client_limits = {};
    Lockouts lockouts = {};
    std::shared_ptr<ConcurrencyLimiter> auth_limiter = std::make_shared<ConcurrencyLimiter>();
    common::RateLimiter rates = {};
    std::shared_ptr<PolicySources> policy_sources = {}; // of the current configuration
    std::unique_ptr<ClientMemory> client_memory = {};   // null: no listener makes tests of clients
    std::size_t clients_waiting = 0;                    // for their greeting, because of tests
    smtp::Monotonic busy_logged{};                      // when a line said that too many wait
    DnsListFailures list_failures = DnsListFailures(log);
    std::unique_ptr<DoorEvents> door = std::make_unique<DoorEvents>(loop, submission_queue);
    // The connection is over; it is destroyed at the end of the turn.
    std::function<void(Connection&)> gone = {};

    // The settings in force for sessions of a listener.
    const smtp::ServerSettings& settings_of(const Rules& rules) const {
        return stressed ? rules.stressed : rules.normal;
    }
    // A number for logs, unlike that of any other session of this host's workers.
    std::uint64_t next_session() { return ++sessions * 256 + instance; }
};

} // namespace smtpd
