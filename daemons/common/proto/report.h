// queue-manager ↔ bounce: report the result for these recipients to the sender. The report is a message of its
// own, durable and Submitted before Reported is sent; only then does the queue-manager mark the recipients. A
// question about many comes in parts (ipc/parts.h); the queue-manager limits its size (decide/queue/reports.cpp).
#pragma once
#include "libsmtp/dsn/report_kind.h"
#include "libspool/delivery/report_recipient.h"
#include "libspool/format/layout.h"
#include "libspool/format/queue_id.h"
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace proto::report {

inline constexpr std::string_view conversation = "report";

using smtp::ReportKind;

inline constexpr std::size_t longest_text = 2000; // bytes of each text of a recipient's reason; longer ones are cut

struct Report { // queue-manager → bounce
    std::uint64_t request = 0;
    spool::QueueId queue_id;
    spool::Location location = spool::Location::messages;
    std::uint64_t reused_file = 0; // id of the reused file it is in (libspool/format/layout.h); 0: none
    ReportKind kind = ReportKind::failed;
    std::vector<spool::ReportRecipient> recipients;
    std::int64_t retry_until = 0; // delayed: µs since 1970
    std::uint32_t part = 0;
    bool more = false;
    std::uint64_t key() const { return request; }
    Report continued() const { return {.request = request, .queue_id = queue_id, .recipients = {}}; }
    static void fields(auto& m, auto& f) {
        f("request", m.request);
        f("queue_id", m.queue_id);
        f("location", m.location);
        f("reused_file", m.reused_file);
        f("kind", m.kind);
        f("recipients", m.recipients);
        f("retry_until", m.retry_until);
        f("part", m.part);
        f("more", m.more);
    }
};

inline spool::FileHint file_of(const Report& report) { return {report.location, spool::QueueId{report.reused_file}}; }

// What all questions of which parts have come may hold together in the memory of bounce.
inline constexpr std::size_t largest_questions = 64 << 20;

enum class Outcome : std::uint8_t {
    submitted,   // report_id is durable
    not_wanted,  // NOTIFY or the null reverse-path forbids it
    kept_in_bad, // an undeliverable report: a copy and the reason lie in bad/
    try_later,   // no space, message unreadable now …
    last_ = try_later,
};

struct Reported { // bounce → queue-manager
    std::uint64_t request = 0;
    Outcome outcome = Outcome::try_later;
    spool::QueueId report_id{1}; // of the report when submitted, else meaningless
    std::string text;
    static void fields(auto& m, auto& f) {
        f("request", m.request);
        f("outcome", m.outcome);
        f("report_id", m.report_id);
        f("text", m.text);
    }
};

using Message = std::variant<Report, Reported>;

} // namespace proto::report
