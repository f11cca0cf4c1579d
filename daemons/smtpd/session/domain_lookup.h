// Finds out for one session which class a domain is in: by the names of the configuration at once, else by its tables.
// Knows the worker's lookups; must not know what depends on the class.
#pragma once
#include "daemons/common/access/domain_check.h"
#include "daemons/smtpd/policy/rules.h"
#include "daemons/smtpd/session/session_log.h"
#include "daemons/smtpd/session/worker_context.h"
#include <functional>
#include <memory>
#include <string>

namespace smtpd {

class DomainLookup {
public:
    // An error: a table cannot be asked, which has been logged.
    using Then = std::function<void(const decide::ClassAnswer& where)>;

    // All outlive it. `resume`: called behind an answer that has come later.
    DomainLookup(WorkerContext& worker, const Rules& rules, const SessionLog& log, std::function<void()> resume)
        : worker_(worker), rules_(rules), log_(log), resume_(std::move(resume)) {}
    DomainLookup(const DomainLookup&) = delete;

    // Calls `then` at once, or later; not after the end of this object. One question at a time.
    void ask(std::string domain, const Then& then);

private:
    void answered(const std::string& domain, const decide::ClassAnswer& where, const Then& then);

    WorkerContext& worker_;
    const Rules& rules_;
    const SessionLog& log_;
    const std::function<void()> resume_;
    std::unique_ptr<common::DomainCheck> check_; // null: no tables have been asked
};

} // namespace smtpd
