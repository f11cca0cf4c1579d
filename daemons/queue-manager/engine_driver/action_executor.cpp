// The queue-manager's hands: one overload for each thing the engine can want.
#include "daemons/common/config/config.h"
#include "daemons/common/runtime/crash_point.h"
#include "daemons/decide/hosts/mx.h"
#include "daemons/decide/queue/failure_mapping.h"
#include "daemons/queue-manager/engine_driver/queue_manager.h"
#include "daemons/queue-manager/conversion/retry_values.h"
#include "libsmtp/text/date.h"
#include <algorithm>
#include <cassert>
#include <fmt/format.h>

namespace queue_manager {

using namespace decide::queue;

namespace {

spool::Reply reply_of(const Reason& reason) {
    return {.code = 0, .status = reason.status, .text = reason.text};
}

} // namespace

// The engine's views live until its next call: nothing in here may call it. What must, goes to next_.
void QueueManager::perform(smtp::Now now) {
    assert(!performing_);
    performing_ = true;
    for (const Action& action : actions_.list)
        std::visit([&](const auto& each) { execute(each, now); }, action);
    actions_.clear();
    performing_ = false;
    write_undelivered();
    turn_.schedule();
    while (!next_.empty() && !performing_) {
        auto next = std::move(next_.front());
        next_.pop_front();
        next();
    }
}

void QueueManager::end_of_turn() {
    readings_.begin();
    stops_.look();
    store_.flush();
    if (const auto due = engine_.next_timer())
        timer_.start(std::max(smtp::Duration::zero(), *due - common::Loop::now().monotonic));
    else
        timer_.stop();
}

// ---- asking ----

CategorizationInput QueueManager::subject_of(const spool::MessageState& state, std::uint64_t size,
                                 std::span<const std::uint32_t> numbers) const {
    return CategorizationInput::of(state, size, config_->queue.recategorize_on_start, numbers,
                       config_->local.delivery.mailbox_command.empty() ? Mailboxes::files : Mailboxes::commands);
}

void QueueManager::execute(const AskCategorizer& action, smtp::Now) {
    const auto numbers = actions_.of(action.numbers);
    if (accepting_ != nullptr) return ask_categorizer(action.id, subject_of(*accepting_, accepting_size_, numbers));
    readings_.read(action.id, spool::Location::messages,
                   [this, id = action.id, numbers = std::vector(numbers.begin(), numbers.end())](
                       const spool::MessageState& state, std::uint64_t size) {
                       ask_categorizer(id, subject_of(state, size, numbers));
                   },
                   [this, id = action.id](const MessageLoader::Failure& failure) { not_categorized(id, failure); });
}

// The question could not be put: the message waits, and says why; others do not.
void QueueManager::not_categorized(spool::QueueId id, const MessageLoader::Failure& failure) {
    using How = MessageLoader::Failure::How;
    if (failure.how == How::failed) return not_categorized(id, fmt::format("its file cannot be read: {}", failure.why));
    if (!engine_.message(id, common::Loop::now())) return; // finished or removed meanwhile
    if (failure.how == How::damaged)
        put_in_quarantine(id, "found damaged when its recipients were to be worked out: " + failure.why);
    else
        log_.critical("{}: its file has gone: forgotten", id.text());
    with_engine([&](smtp::Now now, auto& out) { engine_.forget(id, now, out); });
}

void QueueManager::not_categorized(spool::QueueId id, std::string why) {
    log_.warning("{}: its recipients were not worked out, and are later: {}", id.text(), why);
    next_.push_back([this, id, why = std::move(why)] {
        with_engine([&](smtp::Now now, auto& out) {
            engine_.categorization_failed(id, {"4.3.0", why, {}, {}}, now, out);
        });
    });
    if (!performing_) perform(common::Loop::now());
}

void QueueManager::ask_categorizer(spool::QueueId id, CategorizationInput subject) {
    if (subject.open.empty()) { // the file itself knows
        log_categorized(id, subject.settled);
        next_.push_back([this, id, subject = std::move(subject)] {
            settle(id, {.records = {}, .recipients = subject.settled, .discarded = subject.discarded, .told = {}},
                   subject);
        });
        if (!performing_) perform(common::Loop::now());
        return;
    }
    using Parts = ipc::PartSplitter<proto::categorize::Categorize, &proto::categorize::Categorize::recipients>;
    using Part = Service<proto::categorize::Message>::Part;
    proto::categorize::Categorize question{id.value, id, subject.reverse_path, subject.open};
    subjects_.insert_or_assign(id, std::move(subject));
    categorizer_.ask_in_parts(id.value, [this, id, parts = Parts(std::move(question))]() mutable {
        if (categorizer_.ask(parts.next()) == ipc::SendResult::too_long) {
            subjects_.erase(id);
            not_categorized(id, "an address of it, or its sender's, is too long to be asked about");
            return Part::last;
        }
        return parts.more() ? Part::more : Part::last;
    });
}

void QueueManager::execute(const AskRoute& action, smtp::Now) {
    const proto::route::Route question{0, std::string(action.domain), std::string(action.pool)};
    if (router_.ask(question) != ipc::SendResult::too_long) return;
    next_.push_back([this, domain = question.domain.substr(0, 300), pool = question.pool, all = question.domain] {
        log_.error("the name of a domain is too long for the router: {} …", domain);
        const decide::queue::Reason reason{"5.1.2", "the name of the domain is too long", {}, {}};
        with_engine([&](smtp::Now now, auto& out) {
            engine_.routed({all, pool, decide::queue::RouteKind::permanent, {}, std::chrono::seconds(60), &reason},
                           now, out);
        });
    });
}

// ---- delivering ----

void QueueManager::execute(const OpenConnection& action, smtp::Now now) {
    const std::string name(action.link);
    const auto link = links_.find(name);
    auto connect = connect_to(name, link != links_.end() ? link->second : LinkHosts(), now);
    if (!action.domain.empty()) connect.rule = domains_.rule_of(action.domain); // what it is for, not who came last
    connect.connection = action.connection;
    if (agents_.send(action.agent, connect) != ipc::SendResult::too_long) return;
    log_.error("link {}: it has too many hosts for a delivery agent: {}", name, connect.hosts.size());
    next_.push_back([this, number = action.connection] { // as one that could not be made
        const decide::queue::Reason reason{"4.3.5", "the list of its hosts is too long", {}, {}};
        with_engine([&](smtp::Now now, auto& out) {
            engine_.closed(decide::queue::failed(number, false, {smtp::Stage::none, 0, reason.status}, reason), now, out);
        });
    });
}

QueueManager::LinkHosts QueueManager::hosts_of(const proto::route::Routed& answer) {
    return {answer.kind == decide::RouteKind::mx, answer.rule, answer.hosts};
}

proto::delivery::Connect QueueManager::connect_to(const std::string& link, const LinkHosts& hosts,
                                                  smtp::Now now) {
    proto::delivery::Connect connect{
        .link = link, .mx = hosts.mx, .hosts = hosts.hosts, .replies = replies_by(hosts.rule), .rule = hosts.rule};
    connect.pool = decide::pool_of_link(link);
    for (const auto& rest : resting_.of(link, now)) connect.resting.push_back(rest.source);
    return connect;
}

std::vector<std::string> QueueManager::replies_by(std::string_view rule) const {
    std::vector<std::string> out;
    if (rule.empty()) return out;
    const auto route = std::ranges::find(config_->routes, rule, &decide::RouteRule::pattern);
    if (route != config_->routes.end())
        for (const auto& each : route->replies) out.push_back(each.to_string());
    return out;
}

void QueueManager::execute(const Deliver& action, smtp::Now) {
    const auto numbers = actions_.of(action.numbers);
    CRASH_POINT("queue-manager.deliver");
    const proto::delivery::Deliver order{action.connection,
                                         action.delivery,
                                         action.id,
                                         action.location,
                                         {numbers.begin(), numbers.end()},
                                         to_wire(action.arrival),
                                         to_wire(action.queued),
                                         domains_.sts_of(action.domain),
                                         action.secure,
                                         replies_by(domains_.rule_of(action.domain))};
    if (agents_.send(action.agent, order) != ipc::SendResult::too_long) return;
    next_.push_back([this, order] { // as a try that came to nothing
        log_.error("{}: too many recipients for one transaction: {}", order.queue_id.text(), order.recipients.size());
        const decide::queue::Reason reason{"4.3.5", "too many recipients for one transaction", {}, {}};
        std::vector<decide::queue::Result> results;
        for (const auto number : order.recipients) {
            auto& result = results.emplace_back();
            result.number = number;
            result.outcome = Outcome::deferred;
            result.reason = &reason;
        }
        with_engine([&](smtp::Now now, auto& out) {
            engine_.done({order.connection, order.delivery, order.queue_id, results}, now, out);
        });
    });
}

void QueueManager::execute(const CloseConnection& action, smtp::Now) {
    agents_.send(action.agent, proto::delivery::Close{action.connection});
}

void QueueManager::execute(const Recall& action, smtp::Now) {
    agents_.send(action.agent, proto::delivery::Recall{action.connection});
}

void QueueManager::execute(const CancelDelivery& action, smtp::Now) {
    agents_.send(action.agent, proto::delivery::Cancel{action.connection, action.delivery, action.id});
}

// ---- recording ----

void QueueManager::execute(const RecordDeferral& action, smtp::Now now) {
    const auto numbers = actions_.of(action.numbers);
    const bool tried = result_ != nullptr && result_->event().id == action.id; // else its link's or queue's failure
    auto attempt = tried ? result_->attempt(numbers) : std::nullopt;
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

void QueueManager::execute(const RecordOutcome& action, smtp::Now now) {
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
            records.emplace_back(spool::StatusChanged{.recipients = recipients,
                                                .status = spool::Status::delivered,
                                                .time = now.wall,
                                                .who = "queue-manager"});
        break;
    case Finish::discarded: records = discarded(recipients, now.wall); break;
    case Finish::expired:
        records.emplace_back(spool::StatusChanged{.recipients = recipients,
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

void QueueManager::execute(const RecordSuspect& action, smtp::Now now) {
    const auto numbers = actions_.of(action.numbers);
    // Synced: the next try may kill again.
    std::vector<spool::Property> records;
    records.emplace_back(
        spool::AgentCrash{{numbers.begin(), numbers.end()}, now.wall, "delivery agent", action.deaths > 0});
    record(action.id, std::move(records), spool::Sync::yes);
}

void QueueManager::execute(const RecordHeld& action, smtp::Now now) {
    log_.critical("{}: held: {} delivery agents died with it alone in flight: look at it with care",
                  action.id.text(), action.deaths);
    std::vector<spool::Property> records;
    records.emplace_back(spool::Held{true, now.wall, "queue-manager", "delivery agents die of it"});
    record(action.id, std::move(records), spool::Sync::yes);
}

void QueueManager::execute(const RecordDelayNotice& action, smtp::Now now) {
    std::vector<spool::Property> records;
    records.emplace_back(spool::DelayNoticed{{}, {}, now.wall});
    record(action.id, std::move(records));
}

void QueueManager::execute(const RecordReported& action, smtp::Now now) {
    const auto numbers = actions_.of(action.numbers);
    spool::NdrIssued issued{{numbers.begin(), numbers.end()}, reported_how_, {}, now.wall};
    if (action.report_id.valid()) issued.report = action.report_id;
    std::vector<spool::Property> records;
    records.emplace_back(std::move(issued));
    record(action.id, std::move(records));
}

// ---- reports ----

void QueueManager::execute(const MakeReport& action, smtp::Now now) {
    proto::report::Report out{.request = action.request,
                              .queue_id = action.id,
                              .location = action.location,
                              .kind = action.kind,
                              .retry_until = to_wire(action.retry_until)};
    bool reasons_missing = false;
    out.recipients = action.recipients;
    for (ReportRecipient& each : out.recipients) {
        if (!each.expired) each.last_attempt = to_wire(now.wall);
        reasons_missing = reasons_missing || each.expired || each.reason.status.empty();
    }
    reports_[action.request] = action.id;
    if (!reasons_missing) return ask_bounce(std::move(out));
    readings_.read(action.id, action.location,
                   [this, out = std::move(out)](const spool::MessageState& state, std::uint64_t) mutable {
                       for (auto& recipient : out.recipients) {
                           if (recipient.number >= state.recipients.size()) continue;
                           const auto& last = state.recipients[recipient.number];
                           if (recipient.reason.text.empty()) {
                               recipient.reason.text = last.reply.text;
                               recipient.reason.suppressed = is_suppressed(last);
                           }
                           if (recipient.reason.status.empty()) recipient.reason.status = last.reply.status;
                           if (recipient.last_attempt == 0) recipient.last_attempt = to_wire(last.last_attempt);
                       }
                       ask_bounce(std::move(out));
                   },
                   [this, request = action.request, id = action.id](const MessageLoader::Failure& failure) {
                       no_report(request, id, fmt::format("the message's file cannot be read: {}", failure.why));
                   });
}

void QueueManager::ask_bounce(proto::report::Report question) {
    using Parts = ipc::PartSplitter<proto::report::Report, &proto::report::Report::recipients>;
    using Part = Service<proto::report::Message>::Part;
    const auto shorten = [](std::string& text) {
        if (text.size() <= proto::report::longest_text) return;
        std::size_t end = proto::report::longest_text - 3;
        while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end; // not within a character
        text.replace(end, text.npos, "...");
    };
    for (auto& each : question.recipients) {
        auto& reason = each.reason;
        for (auto* text : {&reason.status, &reason.text, &reason.remote_reply, &reason.remote_host, &reason.at})
            shorten(*text);
    }
    const auto request = question.request;
    bounce_.ask_in_parts(request, [this, request, id = question.queue_id, parts = Parts(std::move(question))]() mutable {
        if (bounce_.ask(parts.next()) == ipc::SendResult::too_long) { // not with texts so short
            no_report(request, id, "what is to be reported is too long");
            return Part::last;
        }
        return parts.more() ? Part::more : Part::last;
    });
}

// The message waits, and says why; others' reports do not.
void QueueManager::no_report(std::uint64_t request, spool::QueueId id, std::string why) {
    next_.push_back([this, request, id, why = std::move(why)] {
        if (!reports_.contains(request)) return; // bounce has gone meanwhile
        reported({.request = request, .outcome = proto::report::Outcome::try_later, .report_id = id, .text = why});
    });
    if (!performing_) perform(common::Loop::now());
}

// ---- files ----

void QueueManager::execute(const MoveToMessages& action, smtp::Now) { store_.take_over(action.id); }

void QueueManager::execute(const Remove& action, smtp::Now) {
    CRASH_POINT("queue-manager.remove");
    scanner_.finished(action.id);
    (void)pending_records_.take(action.id);
    out_.count(common::Loop::now().monotonic);
    context_.metrics.count(common::MetricId::messages_removed);
    write_undelivered(action.id);
    // What is still to be said of it stands in its file, and comes first.
    readings_.when_read(action.id, [this, id = action.id, location = action.location, acknowledgement = acknowledgement_] {
        log_.info("{}: removed", id.text());
        idempotency_keys_.when_stored(
            id, [this, id, location, acknowledgement] { remove_file(id, location, acknowledgement); });
    });
}

// ---- telling ----

void QueueManager::execute(const NoticeActive& action, smtp::Now) {
    assert(categorization_ != nullptr); // categorization makes a message active, and nothing else does
    log_.info("{}: from=<{}>, size={}, nrcpt={} (queue active)", action.id.text(), categorization_->subject.reverse_path,
              categorization_->subject.size, categorization_->subject.addressed);
}

void QueueManager::execute(const NoticeExpired& action, smtp::Now) {
    context_.metrics.count(common::MetricId::messages_expired);
    readings_.read(action.id, spool::Location::messages,
                   [this, id = action.id](const spool::MessageState& state, std::uint64_t) {
                       log_.info("{}: from=<{}>, status=expired, returned to sender", id.text(),
                                 state.envelope.reverse_path);
                   });
}

void QueueManager::execute(const NoticeLink& action, smtp::Now) {
    if (action.health == Health::ready) return log_.info("link={} state=ready", action.link);
    log_.warning("link={} state={} failures={} event={} next={} reason={}", action.link,
                 word_of(action.health), action.failures, action.event, smtp::rfc3339_date(action.next_attempt),
                 action.reason != nullptr ? action.reason->text : std::string());
}

void QueueManager::execute(const NoticeQueue& action, smtp::Now) {
    if (action.health == Health::ready) return log_.info("queue={} state=ready", action.queue);
    log_.warning("queue={} state={} failures={} event={} next={} reason={}", action.queue,
                 word_of(action.health), action.failures, action.event, smtp::rfc3339_date(action.next_attempt),
                 action.reason != nullptr ? action.reason->text : std::string());
}

void QueueManager::execute(const LinkState& action, smtp::Now) {
    static_cast<void>(router_.ask(proto::route::LinkState{std::string(action.link), action.down})); // its name is short
    log_.warning("link={} {}", action.link,
                 action.down ? "is down: its mail goes by the route's next one, if there is one"
                             : "is up again");
}

void QueueManager::execute(const NoticeReset& action, smtp::Now) {
    log_.info("reset routes: event=4005 elapsed={}ms queues={} moved={}",
              std::chrono::duration_cast<std::chrono::milliseconds>(action.elapsed).count(), action.queues,
              action.moved);
}

void QueueManager::execute(const RecordPolicy& action, smtp::Now now) {
    std::vector<spool::Property> records;
    spool::ExpiryChanged changed{.policy = action.policy->name, .time = now.wall, .who = "route"};
    changed.retry_values = values_of(*action.policy);
    records.emplace_back(std::move(changed));
    record(action.id, std::move(records));
}

void QueueManager::execute(const LinkForgotten& action, smtp::Now) {
    links_.erase(std::string(action.link));
}

void QueueManager::execute(const DomainForgotten& action, smtp::Now) { domains_.forgotten(action.domain); }

} // namespace queue_manager
