// Telling senders: failures of one message within a short while share a report, and a recipient that failed
// counts as accounted for only when its report is durable.
#include "daemons/decide/queue/core.h"
#include <algorithm>

namespace decide::queue {

void Core::report(Slot message, ReportKind kind, RecipientNumber number, bool expired, const Reason& reason) {
    const Trace trace = messages_[message].trace;
    const bool success = kind != ReportKind::failed && kind != ReportKind::delayed;
    if (trace == Trace::verify && kind == ReportKind::delayed) return; // its answer is on its way
    // Who asked how it went is told so in one report; but what fails in earnest comes back as anybody's mail.
    const bool status = trace == Trace::verify || (trace == Trace::first_try && success);
    extra_of(message).reports.push_back(
        Due{status ? ReportKind::status : kind, ReportRecipient{number, kind, expired, reason}, 0});
}

// The first try was in vain, and others follow.
void Core::tell_first_try(Slot delivery, const std::vector<Entry>& list, const Reason& reason) {
    Delivery& d = deliveries_[delivery];
    if (messages_[d.message].trace != Trace::first_try || d.traced) return;
    d.traced = true;
    for (const Entry& each : list)
        extra_of(d.message).reports.push_back(
            Due{ReportKind::status, ReportRecipient{each.number, ReportKind::delayed, false, reason}, 0});
}

// What a try came to is all that was asked: there is no other.
void Core::verified(Slot message, const std::vector<Entry>& list, const Reason& reason) {
    for (const Entry& each : list) report(message, ReportKind::failed, each.number, true, reason);
}

// At once when nothing of the message is on its way any more, else a little later, so that what fails
// meanwhile goes into the same report.
void Core::plan_reports(Slot message) {
    const Message& m = messages_[message];
    Extra& e = extras_[m.extra];
    if (std::ranges::none_of(e.reports, [](const Due& due) { return due.request == 0; })) return;
    bool settled = m.active == 0;
    for (Slot slot = m.first; slot != none && settled; slot = deliveries_[slot].next_of_message) {
        const DeliveryState state = deliveries_[slot].state;
        settled = state == DeliveryState::waiting || state == DeliveryState::held;
    }
    const bool planned = e.report_at != smtp::Monotonic{};
    const smtp::Monotonic at = now_.monotonic + (settled ? smtp::Duration{} : settings_.report_gather);
    if (planned && (e.put_off || e.report_at <= at)) return;
    if (planned) reports_due_.erase({e.report_at, message});
    e.report_at = at;
    reports_due_.emplace(at, message);
}

// A notice of delay for a recipient that is done meanwhile is not wanted any more.
void Core::forget_overtaken(Slot message) {
    auto& reports = extras_[messages_[message].extra].reports;
    const auto wanted = [](const Due& due) { return due.kind == ReportKind::delayed && due.request == 0; };
    if (std::ranges::none_of(reports, wanted)) return;
    std::vector<RecipientNumber> waiting;
    for (Slot slot = messages_[message].first; slot != none; slot = deliveries_[slot].next_of_message)
        for (const Entry& each : entries(slot)) waiting.push_back(each.number);
    std::ranges::sort(waiting);
    std::erase_if(reports, [&](const Due& due) {
        return wanted(due) && !std::ranges::binary_search(waiting, due.recipient.number);
    });
}

bool Core::reports_wanted() const {
    constexpr std::size_t asked_at_most = 100;
    return bounce_up_ && !reports_due_.empty() && reports_asked_.size() < asked_at_most;
}

void Core::pump_reports() {
    while (reports_wanted() && reports_due_.begin()->first <= now_.monotonic) {
        const Slot message = reports_due_.begin()->second;
        reports_due_.erase(reports_due_.begin());
        const Message& m = messages_[message];
        Extra& e = extras_[m.extra];
        e.report_at = {};
        e.put_off = false;
        forget_overtaken(message);
        for (const ReportKind kind :
             {ReportKind::failed, ReportKind::delayed, ReportKind::delivered, ReportKind::relayed,
              ReportKind::expanded, ReportKind::status}) {
            MakeReport ask{0, spool::QueueId{m.id}, m.location, kind, {}, {}};
            for (Due& due : e.reports) {
                if (due.kind != kind || due.request != 0) continue;
                if (ask.request == 0) ask.request = ++last_request_;
                due.request = ask.request;
                ask.recipients.push_back(due.recipient);
            }
            if (ask.request == 0) continue;
            if (kind == ReportKind::delayed)
                ask.retry_until = smtp::WallTime(std::chrono::seconds(expires(m)));
            reports_asked_.emplace(ask.request, message);
            emit(std::move(ask));
        }
    }
}

void Core::reported(const Reported& event) {
    const auto asked = reports_asked_.find(event.request);
    if (asked == reports_asked_.end()) return;
    const Slot message = asked->second;
    reports_asked_.erase(asked);
    Message& m = messages_[message];
    Extra& e = extras_[m.extra];
    if (event.outcome == ReportOutcome::try_later) {
        for (Due& due : e.reports)
            if (due.request == event.request) due.request = 0;
        if (e.report_at != smtp::Monotonic{}) reports_due_.erase({e.report_at, message});
        e.put_off = true;
        e.put_off_why = std::string(event.why);
        e.report_at = after(settings_.submit_retry);
        reports_due_.emplace(e.report_at, message);
        leave_incoming(message);
        return;
    }
    std::vector<Entry> failed, expired, told;
    bool delayed = false;
    std::erase_if(e.reports, [&](const Due& due) {
        if (due.request != event.request) return false;
        const Entry entry{due.recipient.number, 0};
        switch (due.recipient.fared) {
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
    if (m.extra == none) return;
    Extra& e = extras_[m.extra];
    if (e.report_at != smtp::Monotonic{}) reports_due_.erase({e.report_at, message});
    for (const Due& due : e.reports)
        if (due.request != 0) reports_asked_.erase(due.request);
}

void Core::service(Service which, Presence presence) {
    const bool up = presence == Presence::up;
    switch (which) {
    case Service::categorizer:
        categorizer_up_ = up;
        if (up) break;
        while (asked_.tail != none) {
            const Slot slot = asked_.tail;
            asked_.remove(deliveries_, slot);
            deliveries_[slot].state = DeliveryState::pending;
            pending_.push(deliveries_, slot, End::front);
        }
        break;
    case Service::router:
        router_up_ = up;
        if (up) { // a new one knows of no link that is down
            for (Slot slot = 1; slot <= links_.top(); ++slot)
                if (!links_[slot].name.empty() && links_[slot].down) {
                    emit(LinkState{links_[slot].name, true});
                    want_reset();
                }
            break;
        }
        lookups_ = 0;
        for (Slot slot = 1; slot <= queues_.top(); ++slot) {
            Queue& q = queues_[slot];
            if (q.name.empty() || q.route != RouteState::asked) continue;
            q.route = q.link != none ? RouteState::known : RouteState::unknown;
            want_route(slot);
        }
        break;
    case Service::bounce:
        bounce_up_ = up;
        if (up) break;
        for (const auto& [request, message] : reports_asked_) {
            Extra& e = extras_[messages_[message].extra];
            for (Due& due : e.reports)
                if (due.request == request) due.request = 0;
            if (e.report_at != smtp::Monotonic{}) reports_due_.erase({e.report_at, message});
            e.report_at = now_.monotonic;
            reports_due_.emplace(e.report_at, message);
        }
        reports_asked_.clear();
        break;
    }
}

} // namespace decide::queue
