// The queue-manager's hands: one overload for each thing the engine can want.
#include "daemons/common/kill_point.h"
#include "daemons/decide/mx.h"
#include "daemons/queue-manager/queue_manager.h"
#include <algorithm>
#include <cassert>
#include <fmt/chrono.h>

namespace queue_manager {

using namespace decide::queue;

namespace {

std::string utc(smtp::WallTime time) {
    return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", std::chrono::floor<std::chrono::seconds>(time));
}

spool::Reply reply_of(const Reason& reason) {
    return {.code = 0, .status = reason.status, .text = reason.text};
}

// The same kinds in the same order.
proto::report::Kind kind_of(ReportKind kind) { return static_cast<proto::report::Kind>(kind); }
static_assert(static_cast<int>(ReportKind::failed) == static_cast<int>(proto::report::Kind::failed) &&
              static_cast<int>(ReportKind::status) == static_cast<int>(proto::report::Kind::status));

} // namespace

// The engine's views live until its next call: nothing in here may call it. What must, goes to next_.
void QueueManager::perform(smtp::Now now) {
    assert(!performing_);
    performing_ = true;
    for (const Action& action : actions_.list)
        std::visit([&](const auto& each) { carry_out(each, now); }, action);
    actions_.clear();
    performing_ = false;
    write_untried();
    turn_.schedule();
    while (!next_.empty() && !performing_) {
        auto next = std::move(next_.front());
        next_.pop_front();
        next();
    }
}

void QueueManager::end_of_turn() {
    readings_.begin();
    store_.flush();
    if (const auto due = engine_.next_timer())
        timer_.start(std::max(smtp::Duration::zero(), *due - common::Loop::now().monotonic));
    else
        timer_.stop();
}

// ---- asking ----

Subject QueueManager::subject_of(const spool::MessageState& state, std::uint64_t size,
                                 std::span<const std::uint32_t> numbers) const {
    return Subject::of(state, size, config_->queue.recategorize_on_start, numbers,
                       config_->local.delivery.mailbox_command.empty() ? Mailboxes::files : Mailboxes::commands);
}

void QueueManager::carry_out(const AskCategorizer& action, smtp::Now) {
    const auto numbers = actions_.of(action.numbers);
    if (accepting_ != nullptr) return ask_categorizer(action.id, subject_of(*accepting_, accepting_size_, numbers));
    readings_.read(action.id, spool::Location::messages,
                   [this, id = action.id, numbers = std::vector(numbers.begin(), numbers.end())](
                       const spool::MessageState& state, std::uint64_t size) {
                       ask_categorizer(id, subject_of(state, size, numbers));
                   });
}

void QueueManager::ask_categorizer(spool::QueueId id, Subject subject) {
    if (subject.open.empty()) { // the file itself knows
        say_settled(id, subject.settled);
        next_.push_back([this, id, subject = std::move(subject)] { settle(id, {.records = {}, .recipients = subject.settled, .discarded = subject.discarded, .told = {}}, subject); });
        if (!performing_) perform(common::Loop::now());
        return;
    }
    categorizer_.ask(proto::categorize::Categorize{id.value, id, subject.reverse_path, subject.open});
    subjects_.insert_or_assign(id, std::move(subject));
}

void QueueManager::carry_out(const AskRoute& action, smtp::Now) {
    router_.ask(proto::route::Route{0, std::string(action.domain), std::string(action.pool)});
}

// ---- delivering ----

void QueueManager::carry_out(const OpenConnection& action, smtp::Now now) {
    const std::string name(action.link);
    const auto link = links_.find(name);
    auto connect = connect_to(name, link != links_.end() ? link->second : LinkHosts(), now);
    connect.connection = action.connection;
    agents_.send(action.agent, connect);
}

QueueManager::LinkHosts QueueManager::hosts_of(const proto::route::Routed& answer) {
    return {answer.kind == proto::route::Kind::mx, answer.rule, answer.hosts};
}

proto::delivery::Connect QueueManager::connect_to(const std::string& link, const LinkHosts& hosts,
                                                  smtp::Now now) {
    proto::delivery::Connect connect{.link = link, .mx = hosts.mx, .hosts = hosts.hosts, .rule = hosts.rule};
    connect.pool = decide::pool_of_link(link);
    for (const auto& rest : resting_.of(link, now)) connect.resting.push_back(rest.source);
    for (const auto& route : config_->routes)
        if (route.pattern == hosts.rule)
            for (const auto& each : route.replies) connect.replies.push_back(each.to_string());
    return connect;
}

void QueueManager::carry_out(const Deliver& action, smtp::Now) {
    const auto numbers = actions_.of(action.numbers);
    KILL_POINT("queue-manager.deliver");
    agents_.send(action.agent, proto::delivery::Deliver{action.connection,
                                                        action.delivery,
                                                        action.id,
                                                        action.location,
                                                        {numbers.begin(), numbers.end()},
                                                        to_wire(action.arrival),
                                                        to_wire(action.queued), policies_.of(action.domain),
                                                        action.secure});
}

void QueueManager::carry_out(const CloseConnection& action, smtp::Now) {
    agents_.send(action.agent, proto::delivery::Close{action.connection});
}

// ---- recording ----

void QueueManager::carry_out(const RecordDeferral& action, smtp::Now now) {
    const auto numbers = actions_.of(action.numbers);
    auto attempt = result_ != nullptr ? result_->attempt(numbers) : std::nullopt;
    if (!attempt) { // no agent tried: the reason is our own
        attempt.emplace();
        attempt->recipients.assign(numbers.begin(), numbers.end());
        attempt->time = now.wall;
        attempt->reply = reply_of(actions_.reasons[action.reason]);
    }
    attempt->outcome = spool::Outcome::deferred;
    attempt->next_attempt = action.next_attempt;
    attempt->failures = action.failures;
    std::vector<spool::Property> records;
    records.emplace_back(std::move(*attempt));
    if (action.problem) records.emplace_back(spool::ProblemMarked{true, action.message_failures, now.wall});
    record(action.id, std::move(records));
}

void QueueManager::carry_out(const RecordOutcome& action, smtp::Now now) {
    // A message that is removed in the same breath needs no last word.
    const bool removed = std::ranges::any_of(actions_.list, [&](const Action& each) {
        const auto* remove = std::get_if<Remove>(&each);
        return remove != nullptr && remove->id == action.id;
    });
    if (removed) return;
    const auto numbers = actions_.of(action.numbers);
    const std::vector<std::uint32_t> recipients(numbers.begin(), numbers.end());
    std::vector<spool::Property> records;
    switch (action.finish) {
    case Finish::delivered:
        if (auto attempt = result_ != nullptr ? result_->attempt(numbers) : std::nullopt)
            records.emplace_back(std::move(*attempt));
        else
            records.emplace_back(spool::Decided{.recipients = recipients,
                                                .status = spool::Status::delivered,
                                                .time = now.wall,
                                                .who = "queue-manager"});
        break;
    case Finish::discarded: records = discarded(recipients, now.wall); break;
    case Finish::expired:
        records.emplace_back(spool::Decided{.recipients = recipients,
                                            .status = spool::Status::expired,
                                            .time = now.wall,
                                            .who = "queue-manager"});
        [[fallthrough]];
    case Finish::failed: { // synced: what was reported is neither reported again nor delivered
        spool::NdrIssued issued{recipients, reported_how_, {}, now.wall};
        if (action.report_id.valid()) issued.report = action.report_id;
        records.emplace_back(std::move(issued));
        return record(action.id, std::move(records), spool::Sync::yes);
    }
    }
    record(action.id, std::move(records));
}

void QueueManager::carry_out(const RecordSuspect& action, smtp::Now now) {
    const auto numbers = actions_.of(action.numbers);
    // Synced: the next try may kill again.
    std::vector<spool::Property> records;
    records.emplace_back(
        spool::Death{{numbers.begin(), numbers.end()}, now.wall, "delivery agent", action.deaths > 0});
    record(action.id, std::move(records), spool::Sync::yes);
}

void QueueManager::carry_out(const RecordHeld& action, smtp::Now now) {
    log_.critical("{}: held: {} delivery agents died with it alone in flight: look at it with care",
                  action.id.text(), action.deaths);
    std::vector<spool::Property> records;
    records.emplace_back(spool::Held{true, now.wall, "queue-manager", "delivery agents die of it"});
    record(action.id, std::move(records), spool::Sync::yes);
}

void QueueManager::carry_out(const RecordDelayNotice& action, smtp::Now now) {
    std::vector<spool::Property> records;
    records.emplace_back(spool::DelayNoticed{{}, {}, now.wall});
    record(action.id, std::move(records));
}

void QueueManager::carry_out(const RecordReported& action, smtp::Now now) {
    const auto numbers = actions_.of(action.numbers);
    spool::NdrIssued issued{{numbers.begin(), numbers.end()}, reported_how_, {}, now.wall};
    if (action.report_id.valid()) issued.report = action.report_id;
    std::vector<spool::Property> records;
    records.emplace_back(std::move(issued));
    record(action.id, std::move(records));
}

// ---- reports ----

void QueueManager::carry_out(const MakeReport& action, smtp::Now now) {
    proto::report::Report out{.request = action.request,
                              .queue_id = action.id,
                              .location = action.location,
                              .kind = kind_of(action.kind),
                              .retry_until = to_wire(action.retry_until)};
    bool reasons_missing = false;
    for (const ReportRecipient& each : action.recipients) {
        out.recipients.push_back({each.number, kind_of(each.fared), each.reason.status, each.reason.text, each.reason.remote_reply,
                                  each.reason.remote_host, each.expired ? 0 : to_wire(now.wall)});
        reasons_missing = reasons_missing || each.expired || each.reason.status.empty();
    }
    reports_[action.request] = action.id;
    if (!reasons_missing) {
        bounce_.ask(out);
        return;
    }
    readings_.read(action.id, action.location,
                   [this, out = std::move(out)](const spool::MessageState& state, std::uint64_t) mutable {
                       for (auto& recipient : out.recipients) {
                           if (recipient.recipient >= state.recipients.size()) continue;
                           const auto& last = state.recipients[recipient.recipient];
                           if (recipient.diagnostic.empty()) recipient.diagnostic = last.reply.text;
                           if (recipient.status.empty()) recipient.status = last.reply.status;
                           if (recipient.last_attempt == 0) recipient.last_attempt = to_wire(last.last_attempt);
                       }
                       bounce_.ask(out);
                   });
}

// ---- files ----

void QueueManager::carry_out(const MoveToMessages& action, smtp::Now) { store_.take_over(action.id); }

void QueueManager::carry_out(const Remove& action, smtp::Now) {
    KILL_POINT("queue-manager.remove");
    loader_.finished(action.id);
    (void)unwritten_.take(action.id);
    out_.count(common::Loop::now().monotonic);
    around_.figures.count(common::Family::messages_removed);
    write_untried(action.id);
    // What is still to be said of it stands in its file, and comes first.
    readings_.when_read(action.id, [this, id = action.id, location = action.location, acknowledgement = acknowledgement_] {
        log_.info("{}: removed", id.text());
        keys_.when_kept(id, [this, id, location, acknowledgement] {
            store_.remove(id, location, [this, id, acknowledgement](spool::Result<> removed) {
                if (!removed) return failed_on_disk(id, removed.error());
                loader_.gone(id);
            });
            turn_.schedule();
        });
    });
}

// ---- telling ----

void QueueManager::carry_out(const NoticeActive& action, smtp::Now) {
    assert(settling_ != nullptr); // categorization makes a message active, and nothing else does
    log_.info("{}: from=<{}>, size={}, nrcpt={} (queue active)", action.id.text(), settling_->subject.reverse_path,
              settling_->subject.size, settling_->subject.addressed);
}

void QueueManager::carry_out(const NoticeExpired& action, smtp::Now) {
    around_.figures.count(common::Family::messages_expired);
    readings_.read(action.id, spool::Location::messages,
                   [this, id = action.id](const spool::MessageState& state, std::uint64_t) {
                       log_.info("{}: from=<{}>, status=expired, returned to sender", id.text(),
                                 state.envelope.reverse_path);
                   });
}

void QueueManager::carry_out(const NoticeLink& action, smtp::Now) {
    if (action.health == Health::ready) return log_.info("link={} state=ready", action.link);
    log_.warning("link={} state={} failures={} event={} next={} reason={}", action.link,
                 word_of(action.health), action.failures, action.event, utc(action.next_attempt),
                 action.reason != nullptr ? action.reason->text : std::string());
}

void QueueManager::carry_out(const NoticeQueue& action, smtp::Now) {
    if (action.health == Health::ready) return log_.info("queue={} state=ready", action.queue);
    log_.warning("queue={} state={} failures={} event={} next={} reason={}", action.queue,
                 word_of(action.health), action.failures, action.event, utc(action.next_attempt),
                 action.reason != nullptr ? action.reason->text : std::string());
}

void QueueManager::carry_out(const LinkState& action, smtp::Now) {
    router_.ask(proto::route::LinkState{std::string(action.link), action.down});
    log_.warning("link={} {}", action.link,
                 action.down ? "is down: its mail goes by the route's next one, if there is one"
                             : "is up again");
}

void QueueManager::carry_out(const NoticeReset& action, smtp::Now) {
    log_.info("reset routes: event=4005 elapsed={}ms queues={} moved={}",
              std::chrono::duration_cast<std::chrono::milliseconds>(action.elapsed).count(), action.queues,
              action.moved);
}

void QueueManager::carry_out(const RecordPolicy& action, smtp::Now now) {
    std::vector<spool::Property> records;
    records.emplace_back(spool::ExpiryChanged{{}, std::string(action.policy), now.wall, "route", ""});
    record(action.id, std::move(records));
}

void QueueManager::carry_out(const LinkForgotten& action, smtp::Now) {
    links_.erase(std::string(action.link));
}

void QueueManager::carry_out(const DomainForgotten& action, smtp::Now) { policies_.forgotten(action.domain); }

} // namespace queue_manager
