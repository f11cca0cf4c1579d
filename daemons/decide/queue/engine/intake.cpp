#include "daemons/decide/queue/engine/intake.h"
#include <algorithm>
#include <tuple>
#include <utility>

namespace decide::queue {

namespace {

std::uint32_t hash(std::string_view text) {
    std::uint32_t h = 2166136261u;
    for (unsigned char c : text) h = (h ^ c) * 16777619u;
    return h;
}

} // namespace

smtp::Duration Intake::lifetime_of(const Accepted& event) const {
    if (event.lifetime > smtp::Duration{}) return event.lifetime;
    return event.sender == Sender::null ? settings_.report_expiry : settings_.expiry;
}

// RFC 2852. A message that came late with mode N: a host before us has notified its sender.
void Intake::set_deadline(Slot slot, const Accepted& event) {
    Message& m = messages_[slot];
    if (event.deliver_by == smtp::WallTime{}) return;
    const auto at = to_seconds(event.deliver_by);
    if (event.late == smtp::LateMail::give_back) {
        m.returned_late = at <= ages_.expires(m);
        if (!m.returned_late) return;
        m.expiry = at;
        m.expiry_fixed = true;
    } else if (event.deliver_by > event.arrival && !m.null_sender) {
        m.notifies_late = true;
        messages_.extras_of(slot).notify_at = at;
    }
}

bool Intake::accepted(const Accepted& event) {
    if (messages_.find(event.id) != none) return false;
    const Slot slot = messages_.add(event.id, event.arrival.time_since_epoch().count());
    Message& m = messages_[slot];
    m.size = event.size;
    m.free_from = to_seconds(std::max(event.arrival, event.not_before));
    m.scheduled = event.not_before > step_.wall();
    if (!m.scheduled) m.free_from = std::min(m.free_from, step_.wall_seconds()); // a clock set back hides nothing
    m.null_sender = event.sender == Sender::null;
    m.expiry_fixed = event.expiry != smtp::WallTime{};
    m.expiry = m.expiry_fixed ? to_seconds(event.expiry) : whole_seconds(lifetime_of(event));
    set_deadline(slot, event);
    m.submitter = hash(event.submitter);
    m.lane = event.lane;
    m.pool = pools_.number_of(event.pool);
    m.policy = event.policy ? terms_.policy_index(*event.policy) : terms_.policy_of(event.retry_policy);
    m.policy_unrecorded = m.policy != 0 && event.policy == nullptr;
    m.location = event.location;
    m.delay_notified = event.delay_notice_sent;
    m.trace = event.trace;
    messages_.set_held(m, event.held);
    m.with_earlier_agent = event.with_earlier_agent;
    m.newly_submitted = event.origin == Origin::submitted && event.trace != Trace::verify;
    place_open(slot, event);
    for (const ReportRecipient& each : event.unreported) {
        ++m.open;
        reporter_.report(slot, each.kind, each.number, each.expired, each.reason);
    }
    if (m.location == spool::Location::incoming) {
        ages_.add_young(slot);
        if (m.returned_late || m.notifies_late) ages_.leave_incoming(slot); // its time is watched from now on
    } else {
        terms_.write_policy(m);
        ages_.watch(slot);
    }
    categorizer_.pump();
    placement_.finish(slot);
    return true;
}

// The recipients that are not accounted for.
void Intake::place_open(Slot slot, const Accepted& event) {
    Message& m = messages_[slot];
    std::vector<Entry> open;
    for (RecipientNumber number : event.open) open.push_back(Entry{number, 0});
    m.open = event.open.empty() ? event.recipients : static_cast<std::uint32_t>(open.size());
    if (m.open == 0) return;
    const Slot first = deliveries_.add(slot);
    Delivery& d = deliveries_[first];
    if (!open.empty()) {
        deliveries_.set_entries(first, open);
    } else {
        d.count = event.recipients;
        d.all_recipients = d.count > 1;
    }
    if (!event.restored.empty()) {
        // Until it is categorized, it waits for the earliest of its recipients.
        const smtp::WallTime latest = step_.wall() + terms_.longest_wait();
        smtp::WallTime earliest = event.restored.size() < m.open ? step_.wall() : smtp::WallTime::max();
        for (const RestoredRecipient& each : event.restored) earliest = std::min({earliest, each.next_attempt, latest});
        deliveries_.apply_restored(slot, first, event.restored, latest);
        d.due = step_.monotonic_of(std::max(earliest, step_.wall()));
        // Overdue messages are spread over a time that grows with their number: one message goes at once, a million
        // over a minute.
        const auto each = smtp::Duration(std::chrono::milliseconds(1));
        if (earliest <= step_.wall())
            d.due += smtp::Duration(static_cast<std::int64_t>(
                step_.random().fraction() *
                static_cast<double>(std::min<std::int64_t>(settings_.overdue_spread.count(),
                                                           each.count() * static_cast<std::int64_t>(overdue_)))));
        if (earliest <= step_.wall()) ++overdue_;
    }
    placement_.place(first, End::back);
}

// The categorizer has no answer for these now; this wait is of our own making: neither a step on any retry schedule nor
// a try.
void Intake::ask_again(Slot slot) {
    Delivery& d = deliveries_[slot];
    ++d.round;
    d.due = step_.after(doubling(settings_.categorize_retry, settings_.categorize_retry_max, d.round));
    ages_.leave_incoming(d.message);
    placement_.place(slot, End::back);
}

// Recipients that wait for the same reason are shown together.
void Intake::undecided(Slot message, RecipientNumber number, const Reason& reason) {
    auto& groups = messages_.extras_of(message).undecided;
    auto at = std::ranges::find(groups, reason, &CategorizerDeferral::reason);
    if (at == groups.end()) at = groups.insert(at, CategorizerDeferral{reason, {}});
    at->numbers.push_back(number);
}

void Intake::categorization_failed(spool::QueueId id, const Reason& why) {
    const Slot message = messages_.find(id);
    const Slot slot = message == none ? none : deliveries_.categorizing(message);
    if (slot == none) return;
    placement_.take_out(slot);
    categorizer_.answered();
    not_categorized(slot, why);
    categorizer_.pump();
}

void Intake::not_categorized(Slot slot, const Reason& why) {
    auto& groups = messages_.extras_of(deliveries_[slot].message).undecided;
    groups.clear();
    if (!why.text.empty()) {
        groups.push_back({why, {}});
        for (const Entry& each : deliveries_.entries(slot)) groups.back().numbers.push_back(each.number);
    }
    ask_again(slot);
}

void Intake::categorized(const Categorized& event) {
    const Slot message = messages_.find(event.id);
    const Slot slot = message == none ? none : deliveries_.categorizing(message);
    if (slot == none) return; // removed or held meanwhile: a stale answer
    placement_.take_out(slot);
    categorizer_.answered();
    for (const ReportRecipient& each : event.expanded) {
        ++messages_[message].open;
        reporter_.report(message, each.kind, each.number, each.expired, each.reason);
    }
    sort_recipients(message, slot, event);
    categorizer_.pump();
    placement_.finish(message);
}

void Intake::sort_recipients(Slot message, Slot first, const Categorized& event) {
    Message& m = messages_[message];
    m.open = m.open - deliveries_[first].count + static_cast<std::uint32_t>(event.recipients.size());
    std::vector<Entry> deferred;
    std::vector<Entry> discarded;
    sorted_.clear();
    std::vector<RecipientNumber> finished;
    if (m.extras != none) {
        messages_.extras[m.extras].undecided.clear();
        finished = messages_.extras[m.extras].finished;
        std::ranges::sort(finished);
    }
    for (const FinalRecipient& each : event.recipients) {
        if (std::ranges::binary_search(finished, each.number)) {
            --m.open;
            continue;
        }
        if (m.trace == Trace::verify && each.fate != Fate::remote) { // this is the answer
            const Reason reason = each.reason ? *each.reason : Reason{};
            if (each.fate == Fate::unknown) {
                reporter_.report_verification(message, {Entry{each.number, 0}}, reason);
                continue;
            }
            const bool failed = each.fate == Fate::failed;
            reporter_.report(message, failed ? ReportKind::failed : ReportKind::delivered, each.number, false, reason);
            if (!failed) discarded.push_back(Entry{each.number, 0});
            continue;
        }
        switch (each.fate) {
        case Fate::unknown:
            deferred.push_back(Entry{each.number, 0});
            if (each.reason) undecided(message, each.number, *each.reason);
            break;
        case Fate::discard:
            discarded.push_back(Entry{each.number, 0});
            --m.open;
            break;
        case Fate::failed:
            reporter_.report(message, ReportKind::failed, each.number, false, each.reason ? *each.reason : Reason{});
            break;
        case Fate::remote:
        case Fate::local: {
            sorted_.push_back(Sorted{queues_.queue_for(each.destination, each.fate, m.pool),
                                     static_cast<std::uint16_t>(each.sender_group),
                                     deliveries_.restored_state(m, deliveries_[first], each.number), each.address_key,
                                     each.needs_suppression_check || deliveries_[first].needs_suppression_check});
            break;
        }
        }
    }
    if (!m.logged_active) { // also if none of it can be tried: the log must name its sender
        m.logged_active = true;
        step_.emit(NoticeActive{event.id});
    }
    if (!discarded.empty() && m.trace != Trace::verify) step_.emit(NoticeDiscarded{event.id, step_.numbers(discarded)});
    if (!discarded.empty() && m.open > 0)
        step_.emit(RecordOutcome{event.id, step_.numbers(discarded), Finish::discarded, {}});
    if (!deferred.empty()) {
        const Slot again = sorted_.empty() ? first : deliveries_.add(message);
        const std::uint16_t round = deliveries_[first].round;
        const RestoredRecipient lone = deliveries_.restored_state(m, deliveries_[first], deferred.front().number);
        deliveries_.set_entries(again, deferred);
        deliveries_[again].round = round;
        deliveries_[again].delay_notified = deliveries_[first].delay_notified;
        if (deferred.size() == 1) deliveries_.apply_restored(message, again, std::span(&lone, 1), lone.next_attempt);
        ask_again(again);
        if (again == first) return;
    } else if (m.extras != none) {
        messages_.extras[m.extras].restored = {};
        messages_.extras[m.extras].finished = {};
    }
    if (sorted_.empty()) {
        placement_.remove(first);
        return;
    }
    make_deliveries(message, first);
}

// One delivery per queue, reverse-path and time of the next try, each with a limited number of recipients.
void Intake::make_deliveries(Slot message, Slot spare) {
    if (sorted_.size() > 1) {
        std::ranges::sort(sorted_, [](const Sorted& a, const Sorted& b) {
            return std::tuple(a.queue, a.sender_group, a.restored.suspect, a.restored.problem, a.restored.next_attempt,
                              a.restored.number) < std::tuple(b.queue, b.sender_group, b.restored.suspect,
                                                              b.restored.problem, b.restored.next_attempt,
                                                              b.restored.number);
        });
    }
    const bool delay_notified = deliveries_[spare].delay_notified;
    std::size_t at = 0;
    std::vector<Entry> list;
    while (at < sorted_.size()) {
        const Sorted& lead = sorted_[at];
        smtp::WallTime due = lead.restored.next_attempt;
        std::uint32_t message_failures = 0, deaths = 0;
        bool needs_suppression_check = false;
        list.clear();
        for (; at < sorted_.size() && list.size() < settings_.recipients_per_transaction; ++at) {
            const Sorted& each = sorted_[at];
            if (each.queue != lead.queue || each.sender_group != lead.sender_group) break;
            if (each.restored.suspect != lead.restored.suspect || each.restored.problem != lead.restored.problem) break;
            if (each.restored.next_attempt > step_.wall() &&
                each.restored.next_attempt - lead.restored.next_attempt > std::chrono::minutes(1))
                break;
            due = std::max(due, each.restored.next_attempt); // never early
            message_failures = std::max(message_failures, each.restored.message_failures);
            deaths = std::max(deaths, each.restored.deaths);
            needs_suppression_check = needs_suppression_check || each.needs_suppression_check;
            list.push_back(Entry{each.restored.number,
                                 static_cast<std::uint16_t>(std::min(each.restored.failures, 0xffffu)), each.key});
        }
        const Slot slot = spare != none ? std::exchange(spare, none) : deliveries_.add(message);
        deliveries_.set_entries(slot, list);
        Delivery& d = deliveries_[slot];
        d.queue = lead.queue;
        d.sender_group = lead.sender_group;
        d.round = 0;
        d.tried = 0;
        d.message_failures = small(message_failures);
        d.deaths = small(deaths);
        d.problem = lead.restored.problem;
        d.suspect = lead.restored.suspect;
        d.needs_suppression_check = needs_suppression_check;
        d.delay_notified = delay_notified;
        d.unlogged = messages_[message].newly_submitted && lead.restored.failures == 0;
        d.due =
            due > step_.wall() ? step_.monotonic_of(std::min(due, step_.wall() + terms_.longest_wait())) : step_.now();
        ++queues_[d.queue].deliveries;
        placement_.place(slot, End::back);
    }
}

void Intake::categorizer_gone() {
    const Slot alone = categorizer_.gone();
    if (alone == none) return;
    not_categorized(alone,
                    {"4.3.0", "the categorizer crashed twice in a row while working on this message alone", {}, {}});
}

} // namespace decide::queue
