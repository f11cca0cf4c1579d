#include "daemons/router/tls_report.h"
#include "libsmtp/text/base64.h"
#include "libsmtp/text/date.h"
#include <cassert>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <zlib.h>

namespace router {

using Json = nlohmann::ordered_json;
using decide::TlsPolicyType;
using namespace std::chrono_literals;

namespace {

constexpr auto last_second = 24h - 1s;

std::int64_t unix_time(smtp::WallTime time) {
    return std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count();
}

Json of_policy(const TlsReportSubject& of, const TlsPolicyTotals& totals) {
    Json policy{{"policy-type", word_of(totals.type)}};
    if (!totals.text.empty()) policy["policy-string"] = totals.text;
    policy["policy-domain"] = of.domain;
    if (!totals.hosts.empty()) policy["mx-host"] = totals.hosts;
    Json out{
        {"policy", std::move(policy)},
        {"summary", {{"total-successful-session-count", totals.good}, {"total-failure-session-count", totals.bad}}}};
    auto details = Json::array();
    for (const auto& failures : totals.failures) {
        Json detail{{"result-type", word_of(failures.result)}};
        if (!failures.sender.empty()) detail["sending-mta-ip"] = failures.sender;
        if (!failures.host.empty()) detail["receiving-mx-hostname"] = failures.host;
        if (!failures.helo.empty()) detail["receiving-mx-helo"] = failures.helo;
        if (!failures.address.empty()) detail["receiving-ip"] = failures.address;
        detail["failed-session-count"] = failures.sessions;
        if (!failures.reason.empty()) detail["failure-reason-code"] = failures.reason;
        details.push_back(std::move(detail));
    }
    if (!details.empty()) out["failure-details"] = std::move(details);
    return out;
}

} // namespace

std::string TlsReportSubject::id() const {
    return fmt::format("{}.{}@{}", smtp::rfc3339_date(day).substr(0, 10), domain, submitter);
}

std::string TlsReportSubject::file_name() const {
    return fmt::format("{}!{}!{}!{}.json.gz", submitter, domain, unix_time(day), unix_time(day + last_second));
}

std::string report_json(const TlsReportSubject& of, const std::vector<TlsPolicyTotals>& policies) {
    Json out{
        {"organization-name", of.organization},
        {"date-range",
         {{"start-datetime", smtp::rfc3339_date(of.day)}, {"end-datetime", smtp::rfc3339_date(of.day + last_second)}}},
        {"contact-info", of.contact},
        {"report-id", of.id()},
        {"policies", Json::array()}};
    for (const auto& each : policies) out["policies"].push_back(of_policy(of, each));
    return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string report_mail(const TlsReportSubject& of, const std::string& to, std::string_view gzipped,
                        smtp::WallTime now) {
    const auto boundary = fmt::format("report-{}-{}", unix_time(of.day), unix_time(now));
    const auto day = smtp::rfc3339_date(of.day).substr(0, 10);
    auto out = fmt::format("From: <{}>\nTo: <{}>\nDate: {}\n"
                           "Subject: Report Domain: {}\n Submitter: {}\n Report-ID: <{}>\n"
                           "TLS-Report-Domain: {}\nTLS-Report-Submitter: {}\n"
                           "TLS-Required: No\nAuto-Submitted: auto-generated\nMIME-Version: 1.0\n"
                           "Content-Type: multipart/report; report-type=\"tlsrpt\";\n boundary=\"{}\"\n\n",
                           of.from, to, smtp::rfc5322_date(now), of.domain, of.submitter, of.id(), of.domain,
                           of.submitter, boundary);
    out += fmt::format("--{}\nContent-Type: text/plain; charset=us-ascii\n\n"
                       "This is a report on the TLS connections that {} made on {} (UTC)\n"
                       "to deliver mail for {}.\nThe domain's record _smtp._tls.{} asks for it.\n\n",
                       boundary, of.submitter, day, of.domain, of.domain);
    out += fmt::format("--{}\nContent-Type: application/tlsrpt+gzip\nContent-Transfer-Encoding: base64\n"
                       "Content-Disposition: attachment;\n filename=\"{}\"\n\n",
                       boundary, of.file_name());
    const auto encoded = smtp::encode_base64(gzipped);
    for (std::size_t at = 0; at < encoded.size(); at += 76) out += encoded.substr(at, 76) + "\n";
    return out + fmt::format("\n--{}--\n", boundary);
}

std::string gzip(std::string_view bytes) {
    z_stream stream{};
    constexpr int gzip_header = 16;
    [[maybe_unused]] const auto begun =
        deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + gzip_header, 8, Z_DEFAULT_STRATEGY);
    assert(begun == Z_OK && "out of memory");
    std::string out(deflateBound(&stream, bytes.size()), '\0');
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream.avail_in = static_cast<uInt>(bytes.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    [[maybe_unused]] const auto ended = deflate(&stream, Z_FINISH);
    assert(ended == Z_STREAM_END);
    out.resize(stream.total_out);
    deflateEnd(&stream);
    return out;
}

} // namespace router
