// Who is asked about the clients of a listener, by its configuration: builds the Screen of a session. The
// checks themselves are few lines each around what a worker has once: rates, resolver, policy clients.
#pragma once
#include "daemons/common/lookup/format/header_checks.h"
#include "daemons/common/filters/milter/client.h"
#include "daemons/common/logging/problems.h"
#include "daemons/smtpd/policy/policy_client.h"
#include "daemons/smtpd/policy/rules.h"
#include "daemons/smtpd/policy/policy_chain.h"
#include "daemons/smtpd/session/worker_context.h"

namespace smtpd {

// Whoever can be asked, by one configuration; lives until its last session has gone.
struct Advisers {
    explicit Advisers(std::function<void(std::string_view)> tell) : troubles(std::move(tell)) {}
    common::Troubles troubles; // those that do not answer
    std::vector<std::unique_ptr<PolicyClient>> policies;
    common::HeaderChecks header_checks;
};
// `tell`: which of them do not answer, in one line for status; "" all do.
std::shared_ptr<Advisers> make_advisers(common::Loop& loop, common::Log& log, const config::Config& config,
                                        std::function<void(std::string_view)> tell);

// Null: nobody is asked about this client.
std::unique_ptr<Screen> make_screen(Service& service, const Rules& rules, const Client& client);

} // namespace smtpd
