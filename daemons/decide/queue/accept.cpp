// Messages come in, wait for the categorizer, and become deliveries in queues.
#include "daemons/decide/queue/core.h"
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

std::uint32_t to_seconds(smtp::WallTime t) {
    return static_cast<std::uint32_t>(
        std::clamp<std::int64_t>(t.time_since_epoch().count() / 1'000'000, 0, 0xffffffff));
}

std::uint32_t whole_seconds(smtp::Duration d) {
    return static_cast<std::uint32_t>(std::chrono::ceil<std::chrono::seconds>(d).count());
}

template <class T> std::uint8_t small(T n) { return static_cast<std::uint8_t>(std::min<T>(n, 255)); }

} // namespace

// A clock that was set back must not hide what was planned by it: no ladder waits longer than its longest
// rung.
smtp::Duration Core::longest_wait() const {
    return std::chrono::duration_cast<smtp::Duration>(
        std::max({settings_.retry_interval_after, settings_.retry_interval, longest_rung_}) *
        (1.0 + settings_.jitter));
}

smtp::Duration Core::lifetime_of(const Accepted& event) const {
    if (event.lifetime > smtp::Duration{}) return event.lifetime;
    return event.sender == Sender::null ? settings_.report_expiry : settings_.expiry;
}

bool Core::accepted(const Accepted& event) {
    if (find(event.id) != none) return false;
    const Slot slot = messages_.allocate();
    Message& m = messages_[slot];
    m.id = event.id.value;
    m.arrival = event.arrival.time_since_epoch().count();
    m.size = event.size;
    m.free_from = to_seconds(std::max(event.arrival, event.not_before));
    m.scheduled = event.not_before > now_.wall;
    if (!m.scheduled) m.free_from = std::min(m.free_from, wall_seconds()); // a clock set back hides nothing
    m.null_sender = event.sender == Sender::null;
    m.expiry_fixed = event.expiry != smtp::WallTime{};
    m.expiry = m.expiry_fixed ? to_seconds(event.expiry) : whole_seconds(lifetime_of(event));
    m.submitter = hash(event.submitter);
    m.lane = event.lane;
    m.pool = pool_of(event.pool);
    m.policy = event.policy ? policy_index(*event.policy) : policy_of(event.retry_policy);
    m.policy_unrecorded = m.policy != 0 && event.policy == nullptr;
    m.location = event.location;
    m.delay_notified = event.delay_notice_sent;
    m.trace = event.trace;
    m.held = event.held;
    m.with_earlier_agent = event.with_earlier_agent;
    m.newly_submitted = event.origin == Origin::submitted && event.trace != Trace::verify;
    if (m.held) ++held_;
    messages_by_id_.insert(slot);
    if (oldest_id_ != 0 && m.arrival < messages_[oldest_].arrival) oldest_id_ = 0;

    std::vector<Entry> open;
    for (RecipientNumber number : event.open) open.push_back(Entry{number, 0});
    m.open = event.open.empty() ? event.recipients : static_cast<std::uint32_t>(open.size());
    if (m.open > 0) {
        const Slot first = new_delivery(slot);
        Delivery& d = deliveries_[first];
        if (!open.empty()) {
            set_entries(first, open);
        } else {
            d.count = event.recipients;
            d.all_recipients = d.count > 1;
        }
        if (!event.restored.empty()) {
            // Until it is categorized it waits for the earliest of its recipients.
            const smtp::WallTime latest = now_.wall + longest_wait();
            smtp::WallTime earliest = event.restored.size() < m.open ? now_.wall : smtp::WallTime::max();
            for (const RestoredRecipient& each : event.restored)
                earliest = std::min({earliest, each.next_attempt, latest});
            apply_restored(slot, first, event.restored, latest);
            d.due = monotonic_of(std::max(earliest, now_.wall));
            // What is overdue is spread, the more the longer: one message goes at once, a million over a
            // minute.
            const auto each = smtp::Duration(std::chrono::milliseconds(1));
            if (earliest <= now_.wall)
                d.due += smtp::Duration(static_cast<std::int64_t>(
                    random_.fraction() * static_cast<double>(std::min<std::int64_t>(
                                             settings_.overdue_spread.count(),
                                             each.count() * static_cast<std::int64_t>(overdue_)))));
            if (earliest <= now_.wall) ++overdue_;
        }
        place(first, End::back);
    }
    for (const ReportRecipient& each : event.unreported) {
        ++m.open;
        report(slot, each.kind, each.number, each.expired, each.reason);
    }
    if (m.location == spool::Location::incoming) {
        m.young = true;
        m.bucket = seconds(now_.monotonic);
        young_.push(messages_, slot, End::back);
    } else {
        write_policy(slot);
        watch(slot);
    }
    pump_categorizer();
    finish(slot);
    return true;
}

// The counters of a lone recipient fit into its delivery; those of several are kept aside until it is
// categorized.
void Core::apply_restored(Slot message, Slot delivery, std::span<const RestoredRecipient> restored, smtp::WallTime latest) {
    Delivery& d = deliveries_[delivery];
    if (d.count == 1) {
        const RestoredRecipient& its = restored.front();
        d.failures = static_cast<std::uint16_t>(std::min(its.failures, 0xffffu));
        d.message_failures = small(its.message_failures);
        d.deaths = small(its.deaths);
        d.problem = its.problem;
        d.suspect = its.suspect;
        return;
    }
    auto& kept = extras_of(message).restored;
    kept.assign(restored.begin(), restored.end());
    for (RestoredRecipient& each : kept) each.next_attempt = std::min(each.next_attempt, latest);
    std::ranges::sort(kept, {}, &RestoredRecipient::number);
}

RestoredRecipient Core::restored_state(const Message& m, const Delivery& d, RecipientNumber number) const {
    RestoredRecipient out;
    out.number = number;
    if (d.count == 1 && d.number == number) {
        out.failures = d.failures;
        out.message_failures = d.message_failures;
        out.deaths = d.deaths;
        out.problem = d.problem;
        out.suspect = d.suspect;
    } else if (m.extras != none) {
        const auto& kept = extras_[m.extras].restored;
        const auto at = std::ranges::lower_bound(kept, number, {}, &RestoredRecipient::number);
        if (at != kept.end() && at->number == number) out = *at;
    }
    return out;
}

void Core::await_categorizer(Slot slot, End end) {
    Delivery& d = deliveries_[slot];
    d.state = DeliveryState::pending;
    d.large = d.count > small_message;
    (d.large ? pending_large_ : pending_).push(deliveries_, slot, end);
}

void Core::leave_categorizer(Slot slot) {
    const Delivery& d = deliveries_[slot];
    categorizing_.remove(deliveries_, slot);
    if (d.large) {
        --categorizing_large_;
        categorizing_recipients_ -= d.count;
    }
}

// Messages with many recipients have a line of their own, and few of them are asked about at a time: the others pass them
// by, and neither this system nor the categorizer holds more of such lists at once than it must.
void Core::pump_categorizer() {
    const auto window = std::min(settings_.max_pending_categorizations, categorizer_window_);
    const auto room = [&] { return categorizer_up_ && categorizing_.count < window; };
    while (room() && !pending_.empty() && categorizing_.count - categorizing_large_ < settings_.max_pending_categorizations)
        ask_categorizer(pending_.pop(deliveries_));
    while (room() && !pending_large_.empty() &&
           (categorizing_large_ == 0 ||
            categorizing_recipients_ + deliveries_[pending_large_.head].count <= recipients_at_once))
        ask_categorizer(pending_large_.pop(deliveries_));
}

void Core::ask_categorizer(Slot slot) {
    Delivery& d = deliveries_[slot];
    d.state = DeliveryState::categorizing;
    categorizing_.push(deliveries_, slot, End::back);
    if (d.large) {
        ++categorizing_large_;
        categorizing_recipients_ += d.count;
    }
    emit(AskCategorizer{spool::QueueId{messages_[d.message].id}, d.all_recipients ? Numbers{} : numbers_of(slot)});
}

// An answer came: more may be asked at a time again.
void Core::categorizer_answered() {
    if (categorizer_window_ < settings_.max_pending_categorizations) ++categorizer_window_;
    last_alone_with_categorizer_ = 0;
}

// It went with questions open. One of them may be why: they are put again, half as many at a time, until one is asked
// alone. If it goes twice in a row with the same one alone, that one waits its time, and the others go on.
void Core::categorizer_gone() {
    if (categorizing_.empty()) return;
    categorizer_window_ = std::max(categorizing_.count / 2, 1u);
    const bool alone = categorizing_.count == 1;
    const std::uint64_t suspected = alone ? messages_[deliveries_[categorizing_.head].message].id : 0;
    const bool again = alone && suspected == last_alone_with_categorizer_;
    last_alone_with_categorizer_ = again ? 0 : suspected;
    while (categorizing_.tail != none) {
        const Slot slot = categorizing_.tail;
        leave_categorizer(slot);
        if (!again) {
            await_categorizer(slot, End::front);
            continue;
        }
        categorizer_window_ = settings_.max_pending_categorizations;
        deliveries_[slot].state = DeliveryState::held; // nowhere
        not_categorized(
            slot, {"4.3.0", "the categorizer crashed twice in a row while working on this message alone", {}, {}});
    }
}

Slot Core::categorizing_delivery(Slot message) const {
    Slot slot = messages_[message].first;
    while (slot != none && deliveries_[slot].state != DeliveryState::categorizing)
        slot = deliveries_[slot].next_of_message;
    return slot;
}

// The categorizer has no answer for these now; that is our own doing: not a rung of any ladder, and not a
// try.
void Core::ask_again(Slot slot) {
    Delivery& d = deliveries_[slot];
    ++d.round;
    d.due = after(doubling(settings_.categorize_retry, settings_.categorize_retry_max, d.round));
    leave_incoming(d.message);
    place(slot, End::back);
}

// What waits for the same reason is shown together.
void Core::undecided(Slot message, RecipientNumber number, const Reason& reason) {
    auto& groups = extras_of(message).undecided;
    auto at = std::ranges::find(groups, reason, &CategorizerDeferral::reason);
    if (at == groups.end()) at = groups.insert(at, CategorizerDeferral{reason, {}});
    at->numbers.push_back(number);
}

void Core::categorization_failed(spool::QueueId id, const Reason& why) {
    const Slot message = find(id);
    const Slot slot = message == none ? none : categorizing_delivery(message);
    if (slot == none) return;
    take_out(slot);
    categorizer_answered();
    not_categorized(slot, why);
    pump_categorizer();
}

void Core::not_categorized(Slot slot, const Reason& why) {
    auto& groups = extras_of(deliveries_[slot].message).undecided;
    groups.clear();
    if (!why.text.empty()) {
        groups.push_back({why, {}});
        for (const Entry& each : entries(slot)) groups.back().numbers.push_back(each.number);
    }
    ask_again(slot);
}

void Core::categorized(const Categorized& event) {
    const Slot message = find(event.id);
    const Slot slot = message == none ? none : categorizing_delivery(message);
    if (slot == none) return; // removed or held meanwhile: a stale answer
    take_out(slot);
    categorizer_answered();
    for (const ReportRecipient& each : event.expanded) {
        ++messages_[message].open;
        report(message, each.kind, each.number, each.expired, each.reason);
    }
    sort_recipients(message, slot, event);
    pump_categorizer();
    finish(message);
}

void Core::sort_recipients(Slot message, Slot first, const Categorized& event) {
    Message& m = messages_[message];
    m.open = m.open - deliveries_[first].count + static_cast<std::uint32_t>(event.recipients.size());
    std::vector<Entry> deferred;
    std::vector<Entry> discarded;
    sorted_.clear();
    std::vector<RecipientNumber> finished;
    if (m.extras != none) {
        extras_[m.extras].undecided.clear();
        finished = extras_[m.extras].finished;
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
                report_verification(message, {Entry{each.number, 0}}, reason);
                continue;
            }
            const bool failed = each.fate == Fate::failed;
            report(message, failed ? ReportKind::failed : ReportKind::delivered, each.number, false, reason);
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
            report(message, ReportKind::failed, each.number, false, each.reason ? *each.reason : Reason{});
            break;
        case Fate::remote:
        case Fate::local: {
            sorted_.push_back(Sorted{queue_for(each.destination, each.fate, m.pool),
                                     static_cast<std::uint16_t>(each.sender_group),
                                     restored_state(m, deliveries_[first], each.number), each.address_key,
                                     each.needs_suppression_check || deliveries_[first].needs_suppression_check});
            break;
        }
        }
    }
    if (!m.logged_active) { // also where nothing of it can be tried: the log is to name its sender
        m.logged_active = true;
        emit(NoticeActive{event.id});
    }
    if (!discarded.empty() && m.trace != Trace::verify) emit(NoticeDiscarded{event.id, numbers_of(discarded)});
    if (!discarded.empty() && m.open > 0)
        emit(RecordOutcome{event.id, numbers_of(discarded), Finish::discarded, {}});
    if (!deferred.empty()) {
        const Slot again = sorted_.empty() ? first : new_delivery(message);
        const std::uint16_t round = deliveries_[first].round;
        const RestoredRecipient lone = restored_state(m, deliveries_[first], deferred.front().number);
        set_entries(again, deferred);
        deliveries_[again].round = round;
        if (deferred.size() == 1) apply_restored(message, again, std::span(&lone, 1), lone.next_attempt);
        ask_again(again);
        if (again == first) return;
    } else if (m.extras != none) {
        extras_[m.extras].restored = {};
        extras_[m.extras].finished = {};
    }
    if (sorted_.empty()) {
        free_delivery(first);
        return;
    }
    make_deliveries(message, first);
}

// One delivery per queue, reverse-path and time of the next try; at most so many recipients each.
void Core::make_deliveries(Slot message, Slot spare) {
    if (sorted_.size() > 1) {
        std::ranges::sort(sorted_, [](const Sorted& a, const Sorted& b) {
            return std::tuple(a.queue, a.sender_group, a.restored.suspect, a.restored.problem,
                              a.restored.next_attempt, a.restored.number) <
                   std::tuple(b.queue, b.sender_group, b.restored.suspect, b.restored.problem,
                              b.restored.next_attempt, b.restored.number);
        });
    }
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
            if (each.restored.suspect != lead.restored.suspect ||
                each.restored.problem != lead.restored.problem)
                break;
            if (each.restored.next_attempt > now_.wall &&
                each.restored.next_attempt - lead.restored.next_attempt > std::chrono::minutes(1))
                break;
            due = std::max(due, each.restored.next_attempt); // never early
            message_failures = std::max(message_failures, each.restored.message_failures);
            deaths = std::max(deaths, each.restored.deaths);
            needs_suppression_check = needs_suppression_check || each.needs_suppression_check;
            list.push_back(Entry{each.restored.number,
                                 static_cast<std::uint16_t>(std::min(each.restored.failures, 0xffffu)), each.key});
        }
        const Slot slot = spare != none ? std::exchange(spare, none) : new_delivery(message);
        set_entries(slot, list);
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
        d.unlogged = messages_[message].newly_submitted && lead.restored.failures == 0;
        d.due = due > now_.wall ? monotonic_of(std::min(due, now_.wall + longest_wait())) : now_.monotonic;
        ++queues_[d.queue].deliveries;
        place(slot, End::back);
    }
}

} // namespace decide::queue
