// The checks for the clients of a listener, by its configuration: builds the PolicyChain of a session. The checks
// themselves are a few lines each around what a worker has once: rates, resolver, policy clients.
#pragma once
#include "daemons/common/access/access_lookups.h"
#include "daemons/common/filters/content_checks.h"
#include "daemons/common/filters/milter/client.h"
#include "daemons/common/logging/problems.h"
#include "daemons/common/rewriting/canonical_header.h"
#include "daemons/decide/access/rule.h"
#include "daemons/smtpd/policy/policy_chain.h"
#include "daemons/smtpd/policy/policy_client.h"
#include "daemons/smtpd/policy/rules.h"
#include "daemons/smtpd/session/worker_context.h"
#include <map>
#include <set>

namespace smtpd {

// Access rules, and what they ask.
struct AccessSources {
    std::map<std::string, decide::access::RuleSet, std::less<>> rules; // by listener
    std::shared_ptr<common::AccessLookups>
        lookups; // null: no rules, certificates, domains or [client_tests] have tables
    std::set<std::string, std::less<>> policy_services; // asked by rules, not at a stage of their own
    bool failing = false;                               // a table could not be asked
};

// All that can be asked, by one configuration; lives until its last session has gone.
struct PolicySources {
    explicit PolicySources(std::function<void(std::string_view)> tell) : problems(std::move(tell)) {}
    common::Problems problems; // those that do not answer
    std::vector<std::unique_ptr<PolicyClient>> policies;
    common::ContentRules content;
    AccessSources access;
    std::shared_ptr<common::CanonicalTables> canonical; // null: they rewrite no headers
    bool canonical_failing = false;                     // one could not be asked

    // For status: which tables cannot be asked, until they can be. `failed`: one could not be asked just now.
    void report_tables(bool failed) {
        if (!failed && !access.failing) return;
        const auto problem = access.lookups ? access.lookups->problem() : "";
        problems.set("access tables", problem);
        access.failing = !problem.empty();
    }
};
// `tell`: which of them do not answer, in one line for status; "" all do.
std::shared_ptr<PolicySources> make_policy_sources(common::Loop& loop, common::Log& log,
                                                   const std::vector<config::PolicyService>& services,
                                                   const config::Content& content,
                                                   std::function<void(std::string_view)> tell);

// Null: no check applies to this client.
std::unique_ptr<PolicyChain> make_policy_chain(WorkerContext& worker, const Rules& rules, const Client& client);

} // namespace smtpd
