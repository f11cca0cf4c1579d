// Telling senders: failures of one message within a short while share a report, and a recipient that failed
// counts as accounted for only when its report is durable.
#include "daemons/decide/queue/core.h"
#include <algorithm>

namespace decide::queue {

static constexpr smtp::Duration soon_again = std::chrono::seconds(2);

namespace {

// What a report's question takes of memory, here and in the bounce daemon.
std::size_t size_of(const ReportRecipient& recipient) {
    const Reason& reason = recipient.reason;
    return sizeof recipient + reason.status.size() + reason.text.size() + reason.remote_reply.size() +
           reason.remote_host.size();
}

} // namespace

void Core::add_report(Slot message, PendingReport&& due) {
    MessageExtras& e = extras_of(message);
    ++e.unrequested;
    e.unrequested_size += size_of(due.recipient);
    e.reports.push_back(std::move(due));
}

void Core::report(Slot message, ReportKind kind, RecipientNumber number, bool expired, const Reason& reason) {
    const Trace trace = messages_[message].trace;
    const bool success = kind != ReportKind::failed && kind != ReportKind::delayed;
    if (trace == Trace::verify && kind == ReportKind::delayed) return; // its answer is on its way
    // Who asked how it went is told so in one report; but what fails in earnest comes back as anybody's mail.
    const bool status = trace == Trace::verify || (trace == Trace::first_try && success);
    add_report(message,
               PendingReport{status ? ReportKind::status : kind, ReportRecipient{number, kind, expired, reason}, 0});
}

// The first try was in vain, and others follow.
void Core::report_first_try(Slot delivery, const std::vector<Entry>& list, const Reason& reason) {
    Delivery& d = deliveries_[delivery];
    if (messages_[d.message].trace != Trace::first_try || d.first_try_reported) return;
    d.first_try_reported = true;
    for (const Entry& each : list)
        add_report(d.message, PendingReport{ReportKind::status,
                                            ReportRecipient{each.number, ReportKind::delayed, false, reason}, 0});
}

// What a try came to is all that was asked: there is no other.
void Core::report_verification(Slot message, const std::vector<Entry>& list, const Reason& reason) {
    for (const Entry& each : list) report(message, ReportKind::failed, each.number, true, reason);
}

// At once when nothing of the message is on its way any more, or when there is enough for a report already; else a little
// later, so that what fails meanwhile goes into the same one.
void Core::plan_reports(Slot message) {
    const Message& m = messages_[message];
    MessageExtras& e = extras_[m.extras];
    if (std::ranges::none_of(e.reports, [](const PendingReport& due) { return due.request == 0; })) return;
    const bool enough = e.unrequested >= max_report_recipients || e.unrequested_size >= max_report_size;
    bool settled = m.active == 0;
    for (Slot slot = m.first; slot != none && settled; slot = deliveries_[slot].next_of_message) {
        const DeliveryState state = deliveries_[slot].state;
        settled = state == DeliveryState::waiting || state == DeliveryState::held;
    }
    const bool planned = e.report_at != smtp::Monotonic{};
    const smtp::Monotonic at = now_.monotonic + (settled || enough ? smtp::Duration{} : settings_.report_gather);
    if (planned && (e.report_deferred || e.report_at <= at)) return;
    if (planned) reports_due_.erase({e.report_at, message});
    e.report_at = at;
    reports_due_.emplace(at, message);
}

// A notice of delay for a recipient that is done meanwhile is not wanted any more.
void Core::drop_superseded_notices(Slot message) {
    auto& reports = extras_[messages_[message].extras].reports;
    const auto wanted = [](const PendingReport& due) { return due.kind == ReportKind::delayed && due.request == 0; };
    if (std::ranges::none_of(reports, wanted)) return;
    std::vector<RecipientNumber> waiting;
    for (Slot slot = messages_[message].first; slot != none; slot = deliveries_[slot].next_of_message)
        for (const Entry& each : entries(slot)) waiting.push_back(each.number);
    std::ranges::sort(waiting);
    std::erase_if(reports, [&](const PendingReport& due) {
        return wanted(due) && !std::ranges::binary_search(waiting, due.recipient.number);
    });
}

void Core::count_unrequested(MessageExtras& e) {
    e.unrequested = 0;
    e.unrequested_size = 0;
    for (const PendingReport& due : e.reports) {
        if (due.request != 0) continue;
        ++e.unrequested;
        e.unrequested_size += size_of(due.recipient);
    }
}

bool Core::may_request_reports() const {
    return bounce_up_ && requested_reports_.size() < reports_window_ && requested_reports_size_ < max_requested_size;
}

bool Core::reports_wanted() const { return may_request_reports() && !reports_due_.empty(); }

void Core::pump_reports() {
    while (reports_wanted() && reports_due_.begin()->first <= now_.monotonic) {
        const Slot message = reports_due_.begin()->second;
        reports_due_.erase(reports_due_.begin());
        MessageExtras& e = extras_[messages_[message].extras];
        e.report_at = {};
        e.report_deferred = false;
        drop_superseded_notices(message);
        for (const ReportKind kind :
             {ReportKind::failed, ReportKind::delayed, ReportKind::delivered, ReportKind::relayed,
              ReportKind::expanded, ReportKind::status})
            while (may_request_reports() && request_report(message, kind)) {}
        count_unrequested(e);
        if (e.unrequested == 0) continue;
        e.report_at = now_.monotonic; // when others are done
        reports_due_.emplace(e.report_at, message);
    }
}

// False: there is nothing of that kind to be told. Many recipients make several reports, so that each can be held in
// memory, and be read.
bool Core::request_report(Slot message, ReportKind kind) {
    const Message& m = messages_[message];
    MakeReport ask{0, spool::QueueId{m.id}, m.location, kind, {}, {}};
    std::size_t size = 0;
    for (PendingReport& due : extras_[m.extras].reports) {
        if (due.kind != kind || due.request != 0) continue;
        const auto its = size_of(due.recipient);
        if (ask.recipients.size() >= max_report_recipients || (size + its > max_report_size && size > 0)) break;
        if (ask.request == 0) ask.request = ++last_request_;
        due.request = ask.request;
        size += its;
        ask.recipients.push_back(due.recipient);
    }
    if (ask.request == 0) return false;
    if (kind == ReportKind::delayed) ask.retry_until = smtp::WallTime(std::chrono::seconds(expires(m)));
    requested_reports_.emplace(ask.request, RequestedReport{message, size});
    requested_reports_size_ += size;
    emit(std::move(ask));
    return true;
}

void Core::forget_request(std::unordered_map<std::uint64_t, RequestedReport>::iterator asked) {
    requested_reports_size_ -= asked->second.size;
    requested_reports_.erase(asked);
}

// As categorizer_gone(): one of the reports may be why.
void Core::bounce_gone() {
    if (requested_reports_.empty()) return;
    reports_window_ = std::max<std::size_t>(requested_reports_.size() / 2, 1);
    const bool alone = requested_reports_.size() == 1;
    const std::uint64_t suspected = alone ? messages_[requested_reports_.begin()->second.message].id : 0;
    const bool again = alone && suspected == last_alone_with_bounce_;
    last_alone_with_bounce_ = again ? 0 : suspected;
    if (again) reports_window_ = max_requested_reports;
    while (!requested_reports_.empty()) {
        const auto [request, asked] = *requested_reports_.begin();
        forget_request(requested_reports_.begin());
        defer_report(asked.message, request, again ? settings_.submit_retry : smtp::Duration{},
                       again ? "the bounce daemon crashed twice in a row while writing this report alone" : "");
    }
}

void Core::defer_report(Slot message, std::uint64_t request, smtp::Duration wait, std::string why) {
    MessageExtras& e = extras_[messages_[message].extras];
    for (PendingReport& due : e.reports)
        if (due.request == request) due.request = 0;
    count_unrequested(e);
    if (e.report_at != smtp::Monotonic{}) reports_due_.erase({e.report_at, message});
    e.report_deferred = !why.empty();
    if (e.report_deferred) e.report_error = std::move(why);
    e.report_at = e.report_deferred ? after(wait) : now_.monotonic + wait;
    reports_due_.emplace(e.report_at, message);
}

void Core::reported(const Reported& event) {
    const auto asked = requested_reports_.find(event.request);
    if (asked == requested_reports_.end()) return;
    const Slot message = asked->second.message;
    forget_request(asked);
    if (reports_window_ < max_requested_reports) ++reports_window_;
    last_alone_with_bounce_ = 0;
    Message& m = messages_[message];
    MessageExtras& e = extras_[m.extras];
    if (event.outcome == ReportOutcome::try_later) {
        // The first time soon: what is kept in reserve for reports is being given up.
        const auto wait = e.report_error.empty() ? std::min<smtp::Duration>(settings_.submit_retry, soon_again)
                                                : settings_.submit_retry;
        defer_report(message, event.request, wait, event.why.empty() ? "no reason given" : std::string(event.why));
        leave_incoming(message);
        return;
    }
    std::vector<Entry> failed, expired, told;
    bool delayed = false;
    std::erase_if(e.reports, [&](const PendingReport& due) {
        if (due.request != event.request) return false;
        const Entry entry{due.recipient.number, 0};
        switch (due.recipient.kind) {
        case ReportKind::failed: (due.recipient.expired ? expired : failed).push_back(entry); break;
        case ReportKind::delivered:
        case ReportKind::relayed:
        case ReportKind::expanded: told.push_back(entry); break;
        case ReportKind::delayed: delayed = delayed || due.kind == ReportKind::delayed; break;
        case ReportKind::status: break; // nothing fares so
        }
        return true;
    });
    const spool::QueueId id{m.id};
    if (!failed.empty()) emit(RecordOutcome{id, numbers_of(failed), Finish::failed, event.report_id});
    if (!expired.empty()) emit(RecordOutcome{id, numbers_of(expired), Finish::expired, event.report_id});
    if (!told.empty()) emit(RecordReported{id, numbers_of(told), event.report_id});
    if (delayed) emit(RecordDelayNotice{id});
    m.open -= static_cast<std::uint32_t>(failed.size() + expired.size() + told.size());
    finish(message);
}

void Core::drop_reports(Slot message) {
    const Message& m = messages_[message];
    if (m.extras == none) return;
    MessageExtras& e = extras_[m.extras];
    if (e.report_at != smtp::Monotonic{}) reports_due_.erase({e.report_at, message});
    for (const PendingReport& due : e.reports)
        if (const auto asked = requested_reports_.find(due.request); asked != requested_reports_.end())
            forget_request(asked);
}

void Core::service(Service which, Presence presence) {
    const bool up = presence == Presence::up;
    switch (which) {
    case Service::categorizer:
        categorizer_up_ = up;
        if (!up) categorizer_gone();
        break;
    case Service::router:
        router_up_ = up;
        if (up) { // a new one knows of no link that is down
            for (Slot slot = 1; slot <= links_.top(); ++slot)
                if (!links_[slot].name.empty() && links_[slot].down) {
                    emit(LinkState{links_[slot].name, true});
                    schedule_reset();
                }
            break;
        }
        lookups_ = repeats_ = 0;
        for (Slot slot = 1; slot <= queues_.top(); ++slot) {
            Queue& q = queues_[slot];
            if (q.name.empty() || q.route != RouteState::requested) continue;
            q.route = q.link != none ? RouteState::known : RouteState::unknown;
            queue_lookup(slot);
        }
        break;
    case Service::bounce:
        bounce_up_ = up;
        if (!up) bounce_gone();
        break;
    }
}

} // namespace decide::queue
