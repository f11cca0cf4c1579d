#include "daemons/smtp-client/session/delivery_report.h"
#include "daemons/common/delivery/delivery_line.h"
#include "daemons/common/delivery/message_description.h"
#include "daemons/common/runtime/loop.h"
#include "daemons/smtp-client/message/results.h"
#include <algorithm>
#include <cerrno>
#include <fmt/format.h>

namespace smtp_client {

namespace delivery = proto::delivery;
using common::DeliveryStatus;
using common::Loop;

namespace {

DeliveryStatus status_of(const spool::MessageState& state, delivery::Outcome outcome) {
    if (state.envelope.trace == spool::Trace::verify)
        return outcome == delivery::Outcome::delivered ? DeliveryStatus::deliverable : DeliveryStatus::undeliverable;
    return outcome == delivery::Outcome::delivered  ? DeliveryStatus::sent
           : outcome == delivery::Outcome::deferred ? DeliveryStatus::deferred
                                                    : DeliveryStatus::bounced;
}

common::Delays delays(const SessionFacts& facts, const delivery::Deliver& order, smtp::Duration transmission,
                      smtp::WallTime now) {
    const smtp::WallTime arrived{smtp::Duration(order.arrived)}, queued{smtp::Duration(order.queued)};
    // The first delivery pays for the connection, for as long as it waited for it.
    const auto waited = std::max(smtp::Duration(0), smtp::Duration(now - queued) - transmission);
    const auto setup = facts.deliveries <= 1 ? std::min(facts.setup, waited) : smtp::Duration(0);
    return common::Delays::of(arrived, queued, setup, transmission, now);
}

// `which`: of the delivery's recipients, by its place.
void write_line(const SessionFacts& facts, common::Metrics* metrics, const DeliveryJob& job, std::size_t which,
                const smtp::Verdict& verdict, const std::string& relay, const common::Delays& delays) {
    const auto& state = job.message().state();
    const auto& order = job.order();
    const auto& recipient = state.recipients[order.recipients[which]];
    common::DeliveryLine line;
    line.queue_id = order.queue_id;
    line.to = recipient.address;
    line.original_to = state.envelope_of(recipient).address;
    if (!relay.empty()) line.relay = relay;
    line.connection_use = std::max<std::uint64_t>(1, facts.deliveries);
    line.delays = delays;
    line.status = verdict.status;
    line.outcome = status_of(state, verdict.outcome);
    std::string by_rule;
    if (!verdict.rule.empty()) // it ends with what it makes of the reply; bounce.soft_bounce may have changed that
        by_rule = fmt::format("{}; taken as {} by the rule \"{}\"", verdict.text,
                              verdict.rule.ends_with("permanent") ? "permanent" : "temporary", verdict.rule);
    line.reason = by_rule.empty() ? verdict.text : by_rule;
    common::write(facts.log, line);
    if (!metrics) return;
    common::count(*metrics, facts.lmtp ? common::Transport::lmtp : common::Transport::smtp, line);
    metrics->count_link(facts.link, common::outcome_of(line));
}

void describe(delivery::Done& done, const SessionFacts& facts, const DeliveryJob& job, const common::Delays& delays) {
    common::describe_message(done, job.order(), job.message().state());
    done.link = facts.link;
    done.connection_use = facts.deliveries;
    done.in_queue = delays.in_queue.count();
    if (facts.deliveries <= 1) done.setup = facts.times;
}

} // namespace

delivery::Done report(const SessionFacts& facts, common::Metrics* metrics, const DeliveryJob& job,
                      const smtp::TransactionResult& result) {
    const auto now = Loop::now();
    const auto transmission = result.started == smtp::Monotonic{} ? smtp::Duration{} : result.finished - result.started;
    const auto spent = delays(facts, job.order(), transmission, now.wall);
    for (std::size_t i = 0; i < result.of_recipient.size(); ++i)
        write_line(facts, metrics, job, i, result.verdicts[result.of_recipient[i]], facts.relay, spent);

    auto done = make_done(job.order(), job.message().state(), result);
    describe(done, facts, job, spent);
    for (auto& reply : done.replies) {
        reply.at = facts.relay;
        reply.details.implicit_tls = facts.implicit_tls;
    }
    done.final_delivery = facts.lmtp;
    done.connection = facts.connection;
    done.host = facts.relay;
    done.tls = facts.tls;
    done.source = facts.source;
    done.started = (now.wall - (now.monotonic - result.finished) - transmission).time_since_epoch().count();
    done.transmission = transmission.count();
    return done;
}

delivery::Done report(const SessionFacts& facts, common::Metrics* metrics, const DeliveryJob& job,
                      const AttemptFailure& failure) {
    const auto now = Loop::now().wall;
    const auto spent = delays(facts, job.order(), {}, now);
    for (std::size_t i = 0; i < job.order().recipients.size(); ++i)
        write_line(facts, metrics, job, i, failure.why, failure.host, spent);
    auto done = make_done(job.order(), failure.why);
    describe(done, facts, job, spent);
    done.started = now.time_since_epoch().count();
    done.connection = facts.connection;
    done.host = failure.host;
    done.tls = failure.tls;
    done.source = failure.source;
    return done;
}

delivery::Done unreadable(const SessionFacts& facts, const DeliveryJob& job) {
    delivery::Done done;
    done.connection = facts.connection;
    done.delivery = job.id();
    done.queue_id = job.order().queue_id;
    done.unreadable = true;
    return done;
}

delivery::Done refused(const SessionFacts& facts, const DeliveryJob& job, const spool::ReadError& error) {
    const auto* world = std::get_if<spool::Error>(&error);
    if (!world) return unreadable(facts, job);
    smtp::Verdict verdict;
    verdict.status = "4.3.0";
    verdict.text = smtp::printable(spool::text_of(error));
    auto done = make_done(job.order(), verdict);
    done.gone = world->code == ENOENT; // the queue-manager looks itself whether the file has gone
    done.connection = facts.connection;
    return done;
}

} // namespace smtp_client
