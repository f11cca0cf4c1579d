// A domain's report on a day's TLS sessions (RFC 8460): its JSON, and the mail that contains it. Pure: the clock,
// gzip and the destination are handled elsewhere.
#pragma once
#include "daemons/router/tls_totals.h"
#include "libsmtp/text/time_types.h"
#include <chrono>
#include <string>
#include <vector>

namespace router {

// The reporting system, and the domain and day reported on.
struct TlsReportSubject {
    std::string organization, contact; // contact: an address
    std::string from;                  // of the mail
    std::string submitter;             // this system's name
    std::string domain;
    std::chrono::sys_days day; // UTC

    std::string id() const; // the same however often the report is made: "2026-11-21.example.com@mta.example.org"
    // RFC 8460, 5.1: "mta.example.org!example.com!1795996800!1796083199.json.gz"
    std::string file_name() const;
};

// RFC 8460, 4.
std::string report_json(const TlsReportSubject& of, const std::vector<TlsPolicyTotals>& policies);

// RFC 8460, 5.3: the whole message, with LF line ends.
std::string report_mail(const TlsReportSubject& of, const std::string& to, std::string_view gzipped,
                        smtp::WallTime now);

std::string gzip(std::string_view bytes);

} // namespace router
