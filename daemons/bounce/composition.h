// From the queue-manager's request to the report that is sent: who is notified of which recipients, in which words,
// and what the report's own envelope is. Pure; must not know files, connections or the clock.
#pragma once
#include "daemons/common/config/sections/delivery/bounce.h"
#include "daemons/common/config/sections/system/mta.h"
#include "daemons/common/delivery/report_texts.h"
#include "daemons/common/proto/report.h"
#include "daemons/decide/queue/settings.h"
#include "libsmtp/dsn/dsn.h"
#include "libspool/message/message_state.h"
#include <array>
#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace bounce {

using common::Wordings;

// What the configuration says about reports.
struct Settings {
    std::string hostname, origin, display_name;
    std::uint64_t full_content_limit = 0;
    bool over_quota_few_headers = true;
    std::uint32_t lifetime = 0; // of a report, as its envelope has it
    bool dry = false;           // no report is sent
    struct PostmasterCopy {     // of which reports
        bool failed = false, delayed = false, undeliverable = false;
    } postmaster_copy;
    Wordings wordings; // by kind; empty ones mean the default
};
Settings settings_of(const config::Bounce& bounce, const config::Mta& mta, const decide::queue::Settings& queue,
                     Wordings wordings);

// One reverse-path and the recipients that its owner gets a report about.
struct Addressee {
    std::string reverse_path; // "": the null one, so no report can be sent
    std::vector<spool::ReportRecipient> recipients;
    bool postmaster = false; // a copy to the postmaster, whatever the reverse-path
};
// Those who asked for a report (NOTIFY); recipients without such a request are in none. A recipient that does not
// exist is left out.
std::vector<Addressee> addressees_of(const proto::report::Report& report, const spool::MessageState& state);

// The copies that the postmaster wants of these reports, and of those that cannot be sent.
std::vector<Addressee> postmaster_copies(const Settings& settings, smtp::ReportKind kind,
                                         const std::vector<Addressee>& addressees);

// How much of the message is needed: its content up to the limit, or only its header.
bool needs_content(const proto::report::Report& report, const spool::MessageState& state);

// What is known about the message besides its state.
struct OriginalMessage {
    spool::QueueId queue_id;
    std::string content; // at least its header
    bool content_complete = false;
};

struct Clock {
    smtp::WallTime now;
    std::chrono::minutes zone{0};
};

// The report as a message: what the spool's writer is to be given.
struct Composition {
    spool::Envelope envelope;
    std::string content;
};
Composition compose(const Settings& settings, const proto::report::Report& report, const Addressee& addressee,
                    const spool::MessageState& state, const OriginalMessage& original, spool::QueueId report_id,
                    Clock clock);

// "sender non-delivery notification", "sender delay notification" …: for the log.
std::string_view report_name(smtp::ReportKind kind);

} // namespace bounce
