#include "daemons/decide/queue/delivery/reporter.h"
#include <algorithm>

namespace decide::queue {

namespace {

constexpr smtp::Duration soon_again = std::chrono::seconds(2);

// Memory taken by a report's request, here and in the bounce daemon.
std::size_t size_of(const ReportRecipient& recipient) {
    const Reason& reason = recipient.reason;
    return sizeof recipient + reason.status.size() + reason.text.size() + reason.remote_reply.size() +
           reason.remote_host.size();
}

} // namespace

void Reporter::add(Slot message, PendingReport&& due) {
    MessageExtras& e = messages_.extras_of(message);
    ++e.unrequested;
    e.unrequested_size += size_of(due.recipient);
    e.reports.push_back(std::move(due));
}

void Reporter::report(Slot message, ReportKind kind, RecipientNumber number, bool expired, const Reason& reason) {
    const Trace trace = messages_[message].trace;
    const bool success = kind != ReportKind::failed && kind != ReportKind::delayed;
    if (trace == Trace::verify && kind == ReportKind::delayed) return; // its answer is on its way
    // A sender who asked for a status report gets one; a real failure is returned like that of any other mail.
    const bool status = trace == Trace::verify || (trace == Trace::first_try && success);
    add(message, PendingReport{status ? ReportKind::status : kind, ReportRecipient{number, kind, expired, reason}, 0});
}

// The first try failed, and others follow.
void Reporter::report_first_try(Slot delivery, const std::vector<Entry>& list, const Reason& reason) {
    Delivery& d = deliveries_[delivery];
    if (messages_[d.message].trace != Trace::first_try || d.first_try_reported) return;
    d.first_try_reported = true;
    for (const Entry& each : list)
        add(d.message,
            PendingReport{ReportKind::status, ReportRecipient{each.number, ReportKind::delayed, false, reason}, 0});
}

void Reporter::report_verification(Slot message, const std::vector<Entry>& list, const Reason& reason) {
    for (const Entry& each : list) report(message, ReportKind::failed, each.number, true, reason);
}

void Reporter::expire(const Delivery& delivery, const std::vector<Entry>& list, const Reason& reason) {
    const Slot message = delivery.message;
    step_.emit(NoticeExpired{spool::QueueId{messages_[message].id}, waits_.of(delivery)});
    for (const Entry& each : list) report(message, ReportKind::failed, each.number, true, reason);
}

// At once if no delivery of the message is in progress any longer, or if there is enough for a report already; else a
// little later, so that failures in the meantime share the report.
void Reporter::plan(Slot message) {
    const Message& m = messages_[message];
    MessageExtras& e = messages_.extras[m.extras];
    if (std::ranges::none_of(e.reports, [](const PendingReport& due) { return due.request == 0; })) return;
    const bool enough = e.unrequested >= max_report_recipients || e.unrequested_size >= max_report_size;
    bool settled = m.active == 0;
    for (Slot slot = m.first; slot != none && settled; slot = deliveries_[slot].next_of_message) {
        const DeliveryState state = deliveries_[slot].state;
        settled = state == DeliveryState::waiting || state == DeliveryState::held;
    }
    const bool planned = e.report_at != smtp::Monotonic{};
    const smtp::Monotonic at = step_.now() + (settled || enough ? smtp::Duration{} : settings_.report_gather);
    if (planned && (e.report_deferred || e.report_at <= at)) return;
    if (planned) due_.erase({e.report_at, message});
    e.report_at = at;
    due_.emplace(at, message);
}

// A delay notice for a recipient that has finished meanwhile is no longer needed.
void Reporter::drop_superseded_notices(Slot message) {
    auto& reports = messages_.extras[messages_[message].extras].reports;
    const auto wanted = [](const PendingReport& due) { return due.kind == ReportKind::delayed && due.request == 0; };
    if (std::ranges::none_of(reports, wanted)) return;
    std::vector<RecipientNumber> waiting;
    for (Slot slot = messages_[message].first; slot != none; slot = deliveries_[slot].next_of_message)
        for (const Entry& each : deliveries_.entries(slot)) waiting.push_back(each.number);
    std::ranges::sort(waiting);
    std::erase_if(reports, [&](const PendingReport& due) {
        return wanted(due) && !std::ranges::binary_search(waiting, due.recipient.number);
    });
}

void Reporter::count_unrequested(MessageExtras& e) {
    e.unrequested = 0;
    e.unrequested_size = 0;
    for (const PendingReport& due : e.reports) {
        if (due.request != 0) continue;
        ++e.unrequested;
        e.unrequested_size += size_of(due.recipient);
    }
}

bool Reporter::may_request() const {
    return services_.bounce && requested_.size() < window_ && requested_size_ < max_requested_size;
}

bool Reporter::wanted() const { return may_request() && !due_.empty(); }

void Reporter::pump() {
    while (wanted() && due_.begin()->first <= step_.now()) {
        const Slot message = due_.begin()->second;
        due_.erase(due_.begin());
        MessageExtras& e = messages_.extras[messages_[message].extras];
        e.report_at = {};
        e.report_deferred = false;
        drop_superseded_notices(message);
        for (const ReportKind kind : {ReportKind::failed, ReportKind::delayed, ReportKind::delivered,
                                      ReportKind::relayed, ReportKind::expanded, ReportKind::status})
            while (may_request() && request(message, kind)) {
            }
        count_unrequested(e);
        if (e.unrequested == 0) continue;
        e.report_at = step_.now(); // when others are done
        due_.emplace(e.report_at, message);
    }
}

// Many recipients are split among several reports, so that each one fits in memory and stays readable.
bool Reporter::request(Slot message, ReportKind kind) {
    const Message& m = messages_[message];
    MakeReport ask{0, spool::QueueId{m.id}, m.location, kind, {}, {}};
    std::size_t size = 0;
    for (PendingReport& due : messages_.extras[m.extras].reports) {
        if (due.kind != kind || due.request != 0) continue;
        const auto its = size_of(due.recipient);
        if (ask.recipients.size() >= max_report_recipients || (size + its > max_report_size && size > 0)) break;
        if (ask.request == 0) ask.request = ++last_request_;
        due.request = ask.request;
        size += its;
        ask.recipients.push_back(due.recipient);
    }
    if (ask.request == 0) return false;
    if (kind == ReportKind::delayed) ask.retry_until = smtp::WallTime(std::chrono::seconds(ages_.expires(m)));
    requested_.emplace(ask.request, Requested{message, size});
    requested_size_ += size;
    step_.emit(std::move(ask));
    return true;
}

void Reporter::forget_request(Requests::iterator asked) {
    requested_size_ -= asked->second.size;
    requested_.erase(asked);
}

// As in CategorizerQueue::gone(): one of the reports may be the cause.
void Reporter::bounce_gone() {
    if (requested_.empty()) return;
    window_ = std::max<std::size_t>(requested_.size() / 2, 1);
    const bool alone = requested_.size() == 1;
    const std::uint64_t suspected = alone ? messages_[requested_.begin()->second.message].id : 0;
    const bool again = alone && suspected == last_alone_;
    last_alone_ = again ? 0 : suspected;
    if (again) window_ = max_requested_reports;
    while (!requested_.empty()) {
        const auto [request, asked] = *requested_.begin();
        forget_request(requested_.begin());
        defer(asked.message, request, again ? settings_.submit_retry : smtp::Duration{},
              again ? "the bounce daemon crashed twice in a row while writing this report alone" : "");
    }
}

void Reporter::defer(Slot message, std::uint64_t request, smtp::Duration wait, std::string why) {
    MessageExtras& e = messages_.extras[messages_[message].extras];
    for (PendingReport& due : e.reports)
        if (due.request == request) due.request = 0;
    count_unrequested(e);
    if (e.report_at != smtp::Monotonic{}) due_.erase({e.report_at, message});
    e.report_deferred = !why.empty();
    if (e.report_deferred) e.report_error = std::move(why);
    e.report_at = e.report_deferred ? step_.after(wait) : step_.now() + wait;
    due_.emplace(e.report_at, message);
}

Reporter::Answered Reporter::reported(const Reported& event) {
    const auto asked = requested_.find(event.request);
    if (asked == requested_.end()) return {};
    const Slot message = asked->second.message;
    forget_request(asked);
    if (window_ < max_requested_reports) ++window_;
    last_alone_ = 0;
    Message& m = messages_[message];
    MessageExtras& e = messages_.extras[m.extras];
    if (event.outcome == ReportOutcome::try_later) {
        // Soon at first: the space reserved for reports is being released.
        const auto wait = e.report_error.empty() ? std::min<smtp::Duration>(settings_.submit_retry, soon_again)
                                                 : settings_.submit_retry;
        defer(message, event.request, wait, event.why.empty() ? "no reason given" : std::string(event.why));
        return {message, true};
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
        case ReportKind::status: break; // no recipient has this kind
        }
        return true;
    });
    const spool::QueueId id{m.id};
    if (!failed.empty()) step_.emit(RecordOutcome{id, step_.numbers(failed), Finish::failed, event.report_id});
    if (!expired.empty()) step_.emit(RecordOutcome{id, step_.numbers(expired), Finish::expired, event.report_id});
    if (!told.empty()) step_.emit(RecordReported{id, step_.numbers(told), event.report_id});
    if (delayed) step_.emit(RecordDelayNotice{id});
    m.open -= static_cast<std::uint32_t>(failed.size() + expired.size() + told.size());
    return {message, false};
}

void Reporter::report_now(Slot message) {
    const Message& m = messages_[message];
    if (m.extras == none) return;
    MessageExtras& e = messages_.extras[m.extras];
    if (!e.report_deferred || e.report_at == smtp::Monotonic{}) return;
    due_.erase({e.report_at, message});
    e.report_at = step_.now();
    due_.emplace(e.report_at, message);
}

void Reporter::report_all_now() {
    const Due unreported = due_; // as they are now
    for (const auto& [at, message] : unreported) report_now(message);
}

std::optional<smtp::Monotonic> Reporter::next() const {
    if (!wanted()) return {};
    return due_.begin()->first;
}

void Reporter::drop(Slot message) {
    const Message& m = messages_[message];
    if (m.extras == none) return;
    MessageExtras& e = messages_.extras[m.extras];
    if (e.report_at != smtp::Monotonic{}) due_.erase({e.report_at, message});
    for (const PendingReport& due : e.reports)
        if (const auto asked = requested_.find(due.request); asked != requested_.end()) forget_request(asked);
}

} // namespace decide::queue
