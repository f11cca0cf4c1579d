// Reports to senders: failures of one message within a short time share a report, and a failed recipient counts as
// accounted for only when its report is durable.
#pragma once
#include "daemons/decide/queue/model/gates.h"
#include "daemons/decide/queue/model/step.h"
#include "daemons/decide/queue/tables/age_watch.h"
#include "daemons/decide/queue/tables/deliveries.h"
#include "daemons/decide/queue/tables/messages.h"
#include "daemons/decide/queue/tables/waiting_times.h"
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace decide::queue {

class Reporter {
public:
    using Due = std::set<std::pair<smtp::Monotonic, Slot>>; // messages
    struct Answered {
        Slot message = none;   // none: unknown request
        bool deferred = false; // the report must be requested again; else the recipients are accounted for
    };

    Reporter(const Settings& settings, Step& step, const Services& services, Messages& messages, Deliveries& deliveries,
             const AgeWatch& ages, const WaitingTimes& waits)
        : settings_(settings), step_(step), services_(services), messages_(messages), deliveries_(deliveries),
          ages_(ages), waits_(waits) {}

    // ---- adds what has to be reported; plan() must follow ----
    void report(Slot message, ReportKind kind, RecipientNumber number, bool expired, const Reason& reason);
    void report_first_try(Slot delivery, const std::vector<Entry>& list, const Reason& reason);
    // The result of one try is all that was requested: there is no other try.
    void report_verification(Slot message, const std::vector<Entry>& list, const Reason& reason);
    void expire(const Delivery& delivery, const std::vector<Entry>& list, const Reason& reason);

    void plan(Slot message);
    void drop(Slot message);       // nothing is left to report
    void report_now(Slot message); // if it was deferred
    void report_all_now();

    // ---- the bounce daemon ----
    void pump();
    Answered reported(const Reported& event);
    void bounce_gone();

    std::optional<smtp::Monotonic> next() const; // when pump() has something to do
    const Due& due() const { return due_; }      // not requested yet
    std::size_t pending() const { return due_.size() + requested_.size(); }

private:
    // Maximum number of recipients in one report, and bytes of text about them; the rest go into the next report.
    static constexpr std::uint32_t max_report_recipients = 10'000;
    static constexpr std::size_t max_report_size = 4 << 20;
    static constexpr std::size_t max_requested_reports = 100, max_requested_size = 8 << 20; // in progress; bytes
    struct Requested {
        Slot message = none;
        std::size_t size = 0;
    };
    using Requests = std::unordered_map<std::uint64_t, Requested>; // by request

    void add(Slot message, PendingReport&& due);
    static void count_unrequested(MessageExtras& extra);
    bool may_request() const;
    bool wanted() const; // and may be requested now
    // False: there is nothing of that kind to report.
    bool request(Slot message, ReportKind kind);
    void forget_request(Requests::iterator asked);
    void defer(Slot message, std::uint64_t request, smtp::Duration wait, std::string why);
    void drop_superseded_notices(Slot message);

    const Settings& settings_;
    Step& step_;
    const Services& services_;
    Messages& messages_;
    Deliveries& deliveries_;
    const AgeWatch& ages_;
    const WaitingTimes& waits_;

    Due due_;
    Requests requested_;
    std::size_t requested_size_ = 0;
    std::size_t window_ = max_requested_reports; // requested at a time, at most
    std::uint64_t last_alone_ = 0; // the message whose report was alone when the bounce daemon last died; 0: several
    std::uint64_t last_request_ = 0;
};

} // namespace decide::queue
