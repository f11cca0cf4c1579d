// The daily reports on TLS (RFC 8460): counts what smtp-client tells, keeps the totals of each UTC day over
// restarts, and after its end sends every domain that asks for one its report, by mail or to its web server.
// Knows nothing of connections; what a report says is tls_report.h.
#pragma once
#include "daemons/common/config/sections/delivery/tls_reports.h"
#include "daemons/common/logging/log.h"
#include "daemons/common/net/dns/resolver.h"
#include "daemons/common/net/https.h"
#include "daemons/common/runtime/timer.h"
#include "daemons/decide/tls/tls_rpt.h"
#include "daemons/router/tls_report.h"
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace router {

class TlsReporter {
public:
    static constexpr smtp::Duration save_interval = std::chrono::minutes(1);   // at most this much is lost in a crash
    static constexpr smtp::Duration retry_interval = std::chrono::minutes(30); // what could not be delivered
    static constexpr smtp::Duration give_up_after = std::chrono::days(2);      // after the day's end
    static constexpr std::size_t max_active = 4;

    // `directory` exists; `submit`: path of pickup's socket.
    TlsReporter(common::Loop& loop, common::Log& log, std::string directory, std::string submit);
    ~TlsReporter();
    TlsReporter(const TlsReporter&) = delete;
    TlsReporter& operator=(const TlsReporter&) = delete;

    // What lookups are made with, and what reports say, from now on; null: nothing is sent.
    void use(dns::Resolver* resolver, common::Https* https, const config::TlsReports& settings,
             const std::string& hostname);
    // `text`, `hosts`: as TlsTotals::count().
    void count(const decide::TlsOutcome& outcome, std::uint64_t sessions, const std::vector<std::string>& text,
               const std::vector<std::string>& hosts);
    void save(); // what is not on the disk

private:
    using Day = std::chrono::sys_days;
    struct Totals {
        TlsTotals totals;
        bool dirty = false;
        smtp::WallTime due; // its reports, once the day has ended
        std::string last;   // domain whose report was begun last; they go in order
    };
    // One domain's report on its way.
    struct Sending {
        TlsReportSubject of;
        std::string packed;
        std::vector<decide::tls_rpt::Destination> to;
        std::size_t next = 0;
        bool delivered = false;
        dns::Lookup record, a, aaaa;
        std::size_t open = 0; // address lookups
        std::vector<common::IpAddress> addresses;
        std::unique_ptr<common::Https::Exchange> exchange;
    };
    struct Submission; // the work of a thread

    void load();
    std::string path(Day day) const;
    void maintain();
    void start(Day day, Totals& totals);
    void record_found(const std::string& domain, const dns::Answer& answer);
    void step(const std::string& domain);
    void mail(const std::string& domain, const std::string& to);
    void mailed(const Submission& work);
    void look_for_host(const std::string& domain);
    void post(const std::string& domain);
    void ended(const std::string& domain, bool done);

    common::Loop& loop_;
    common::Log& log_;
    std::string directory_, submit_;
    dns::Resolver* resolver_ = nullptr;
    common::Https* https_ = nullptr;
    config::TlsReports settings_;
    std::string hostname_;
    std::map<Day, Totals> days_;
    std::map<std::string, Sending> sending_; // by domain
    std::vector<Submission*> submissions_;   // in threads
    common::Timer timer_;
};

} // namespace router
