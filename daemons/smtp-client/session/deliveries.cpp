// The part of a Connection that is about deliveries: from the order to the session, content on demand, and what
// became of each recipient.
#include "daemons/common/runtime/crash_point.h"
#include "daemons/smtp-client/session/connection.h"
#include "libsmtp/text/utf8.h"
#include <algorithm>

namespace smtp_client {

using common::Loop;
using namespace smtp::client_event;
namespace delivery = proto::delivery;

void Connection::deliver(delivery::Deliver order) {
    if (over_) return;
    jobs_.push_back(std::make_unique<Job>(Job{std::move(order)}));
    hook_.schedule();
}

void Connection::probe(smtp::Transaction transaction, bool secure, const proto::route::StsPolicy& sts) {
    if (over_) return;
    auto& job = *jobs_.emplace_back(std::make_unique<Job>());
    job.order.delivery = transaction.id;
    job.order.secure = secure;
    job.order.sts = sts;
    job.probe = std::move(transaction);
    hook_.schedule();
}

void Connection::close(NotStarted not_started) {
    if (over_) return;
    closing_ = true;
    if (not_started == NotStarted::drop) jobs_.resize(in_session_);
    if (!up_ && jobs_.empty()) return finish(End::orderly); // nobody needs it any more
    hook_.schedule();
}

std::vector<std::uint64_t> Connection::recall() {
    std::vector<std::uint64_t> out;
    if (over_) return out;
    if (in_session_ > 0 && session_ && session_->withdraw(jobs_[in_session_ - 1]->order.delivery)) --in_session_;
    for (auto job = jobs_.begin() + static_cast<std::ptrdiff_t>(in_session_); job != jobs_.end(); ++job)
        out.push_back((*job)->order.delivery);
    jobs_.resize(in_session_);
    preparing_ = false;
    hook_.schedule(); // it may be to close
    return out;
}

Connection::CutOff Connection::cut(std::uint64_t delivery) {
    if (over_) return CutOff::unknown;
    const auto place = std::ranges::find_if(jobs_, [&](auto& job) { return job->order.delivery == delivery; });
    if (place == jobs_.end()) return CutOff::unknown;
    const auto index = static_cast<std::size_t>(place - jobs_.begin());
    const bool begun = index < in_session_ && !(index + 1 == in_session_ && session_->withdraw(delivery));
    if (!begun) {
        if (index < in_session_) --in_session_;
        jobs_.erase(place);
        preparing_ = false;
        hook_.schedule();
        return CutOff::yes;
    }
    if (session_->content_sent(delivery)) return CutOff::too_late;
    (*place)->cut = true;
    if (index == 0) break_off_delivery((*place)->order.queue_id);
    return CutOff::yes;
}

// The conversation ends in the middle of that message: a server takes nothing that has no end.
void Connection::break_off_delivery(spool::QueueId id) {
    log_context().info("{}: delivery stopped before the content was sent: it was removed or has expired", id.text());
    session_->content_broken("the delivery was stopped by this system");
    hook_.schedule();
}

// Hands deliveries to the session as long as it takes them.
void Connection::feed_session() {
    if (!session_ || session_->over() || !up_) return;
    preparing_ = false;
    while (in_session_ < jobs_.size() && session_->can_deliver()) {
        const auto handed = hand_over(*jobs_[in_session_]);
        preparing_ = handed == HandedOver::not_yet;
        if (preparing_) break;
        if (handed == HandedOver::elsewhere) break; // it has left for there, or does after those under way
        if (handed == HandedOver::not_now) {
            // Those under way first; then the rest goes back untried, and a descriptor with it.
            closing_ = true;
            if (in_session_ == 0) jobs_.clear();
            break;
        }
        if (handed == HandedOver::yes)
            ++in_session_;
        else
            jobs_.erase(jobs_.begin() + static_cast<std::ptrdiff_t>(in_session_));
    }
    if (closing_ && jobs_.empty() && session_) session_->quit(Loop::now().monotonic);
}

Connection::HandedOver Connection::hand_over(Job& job) {
    const auto refuse_it = [&](const spool::ReadError& error) {
        if (const auto* world = std::get_if<spool::Error>(&error); world && spool::is_resource_exhaustion(*world)) {
            context_.log_shortage(*world);
            return HandedOver::not_now;
        }
        refuse(job, error);
        return HandedOver::refused;
    };
    if (!job.message && !job.probe) { // else it was open for the session before
        auto message = context_.messages.open(job.order.queue_id, job.order.location);
        if (!message) return refuse_it(message.error());
        job.message = *std::move(message);
    }
    // A damaged message is found before the server hears of it, where the whole is at hand.
    if (job.message && job.message->is_small())
        if (auto content = job.message->small_content(); !content) return refuse_it(content.error());
    if (!meets_needs(job)) { // the connection was made for mail that needs less
        job.content.reset();
        job.message.reset();
        return HandedOver::not_now;
    }
    if (job.probe) {
        session_->deliver(*job.probe, Loop::now().monotonic);
        return HandedOver::yes;
    }
    if (auto why = missing_requirement(job); !why.empty()) {
        if (in_session_ == 0) try_another_host(job, std::move(why));
        return HandedOver::elsewhere;
    }
    if (sources_.switch_to_preferred(last_deferral_source(job))) {
        if (in_session_ == 0) switch_source(job);
        return HandedOver::elsewhere;
    }
    const auto prepared = prepare(job);
    if (!prepared) return refuse_it(prepared.error());
    if (*prepared == Content::Prepared::not_yet) return HandedOver::not_yet;
    smtp::Transaction transaction;
    if (!make_transaction(job.order, *job.message, transaction))
        return refuse_it(spool::Error{0, "the recipient is not in the message's file"});
    describe(*job.content, transaction);
    if (current_->local()) transaction.require_tls = false; // RFC 8689 is about the way between hosts
    if (job.message->envelope().smtputf8 && job.message->content().eight_bit) {
        const auto header = job.message->read_header();
        if (!header) return refuse_it(header.error());
        transaction.utf8_header = !smtp::is_ascii(*header);
    }
    session_->deliver(std::move(transaction), Loop::now().monotonic);
    return HandedOver::yes;
}

// What the content will be for this server.
spool::ReadResult<Content::Prepared> Connection::prepare(Job& job) {
    if (!job.content) {
        const auto server = session_->extensions().eight_bit_mime ? Content::Server::takes_eight_bit
                                                              : Content::Server::takes_seven_bit;
        job.content = std::make_unique<Content>(*job.message, server, context_.signing,
                                                delivered_to_fields(job.order, *job.message));
    }
    auto prepared = job.content->prepare(Loop::now().wall);
    if (prepared && *prepared == Content::Prepared::yes && !job.content->unsigned_because().empty())
        log_context().warning("{}: not signed (DKIM): {}", job.order.queue_id.text(), job.content->unsigned_because());
    return prepared;
}

void Connection::refuse(Job& job, const spool::ReadError& error) {
    const auto* world = std::get_if<spool::Error>(&error);
    const auto text = spool::text_of(error);
    smtp::Verdict verdict;
    verdict.status = "4.3.0";
    verdict.text = smtp::printable(text);
    auto done = delivery::Done{};
    if (world) { // the queue-manager looks itself whether the file has gone
        done = make_done(job.order, verdict);
        done.gone = world->code == ENOENT;
    } else {
        done.delivery = job.order.delivery;
        done.queue_id = job.order.queue_id;
        done.unreadable = true;
    }
    done.connection = number();
    log_context().warning("{}: {}", job.order.queue_id.text(), text);
    owner_.done(*this, std::move(done), std::nullopt);
}

void Connection::send_content(const ContentRequested& wanted) {
    Job* job = job_of(wanted.id);
    if (!job || session_->over()) return;
    if (job->cut) return break_off_delivery(job->order.queue_id);
    const auto now = Loop::now().monotonic;
    if (wanted.from_start) job->content->rewind();
    std::string_view last;
    if (!job->content->at_end()) {
        const auto piece = job->content->next();
        if (!piece) {
            job->damaged = std::holds_alternative<spool::Damaged>(piece.error());
            const auto why = spool::text_of(piece.error());
            log_context().warning("{}: {}", job->order.queue_id.text(), why);
            return session_->content_broken(why);
        }
        if (!job->content->at_end()) return session_->content(*piece, now);
        last = *piece;
    }
    CRASH_POINT("smtp-client.before_dot");
    session_->content_end(now, last);
    final_dot_unsent_ = true;
}

Connection::Job* Connection::job_of(std::uint64_t id) {
    for (std::size_t i = 0; i < in_session_; ++i)
        if (jobs_[i]->order.delivery == id) return jobs_[i].get();
    return nullptr;
}

bool Connection::lmtp() const {
    const auto protocol = current_                ? current_->host.protocol
                          : order_.hosts.empty() ? smtp::Protocol::smtp
                                                 : order_.hosts.front().protocol;
    return protocol == smtp::Protocol::lmtp;
}

void Connection::finished(smtp::TransactionResult& result) {
    CRASH_POINT("smtp-client.after_reply");
    if (retry_from_another_source(result)) return;
    report(result);
    CRASH_POINT("smtp-client.after_done");
}

void Connection::report(const smtp::TransactionResult& said) {
    smtp::TransactionResult result = said;
    const auto place =
        std::ranges::find_if(jobs_, [&](auto& job) { return job->order.delivery == result.id; });
    if (place == jobs_.end()) return;
    const auto job = std::move(*place);
    const auto rules = reply_rules(job->probe ? order_.replies : job->order.replies);
    for (auto& verdict : result.verdicts) {
        apply_reply_rules(rules, verdict);
        if (context_.soft_bounce) apply_soft_bounce(verdict);
    }
    jobs_.erase(place);
    --in_session_;
    ++deliveries_done_;
    if (job->probe) return observer_->probed(relay(), result);
    report_source_accepted(result);
    const auto now = Loop::now();
    const auto transmission =
        result.started == smtp::Monotonic{} ? smtp::Duration{} : result.finished - result.started;
    for (std::size_t i = 0; i < result.of_recipient.size(); ++i)
        write_line(*job, i, result.verdicts[result.of_recipient[i]], relay(), transmission, now.wall);

    auto done = make_done(job->order, job->message->state(), result);
    for (auto& reply : done.replies) {
        reply.at = relay();
        reply.details.implicit_tls = current_->host.tls_wrap;
    }
    done.final_delivery = lmtp();
    done.connection = number();
    done.host = relay();
    done.tls = tls_description();
    done.source = source();
    done.started = (now.wall - (now.monotonic - result.finished) - transmission).time_since_epoch().count();
    done.transmission = transmission.count();
    owner_.done(*this, std::move(done), std::move(job->message));
}

void Connection::write_line(const Job& job, std::size_t which, const smtp::Verdict& verdict,
                            const std::string& relay, smtp::Duration transmission, smtp::WallTime now) const {
    const auto& state = job.message->state();
    const auto& recipient = state.recipients[job.order.recipients[which]];
    const smtp::WallTime arrived{smtp::Duration(job.order.arrived)}, queued{smtp::Duration(job.order.queued)};
    // The first delivery pays for the connection, for as long as it waited for it.
    const auto waited = std::max(smtp::Duration(0), smtp::Duration(now - queued) - transmission);
    const auto setup = session_ && session_->extensions().esmtp ? setup_ : Loop::now().monotonic - began_;
    using common::DeliveryStatus;
    common::DeliveryLine line;
    line.queue_id = job.order.queue_id;
    line.to = recipient.address;
    line.original_to = state.envelope_of(recipient).address;
    if (!relay.empty()) line.relay = relay;
    line.connection_use = std::max<std::uint64_t>(1, deliveries_done_);
    line.delays = common::Delays::of(
        arrived, queued, deliveries_done_ <= 1 ? std::min(setup, waited) : smtp::Duration(0), transmission, now);
    line.status = verdict.status;
    const auto outcome = verdict.outcome;
    if (state.envelope.trace == spool::Trace::verify)
        line.outcome = outcome == delivery::Outcome::delivered ? DeliveryStatus::deliverable : DeliveryStatus::undeliverable;
    else
        line.outcome = outcome == delivery::Outcome::delivered  ? DeliveryStatus::sent
                       : outcome == delivery::Outcome::deferred ? DeliveryStatus::deferred
                                                                : DeliveryStatus::bounced;
    line.reason = verdict.text;
    common::write(log_context(), line);
    if (!context_.metrics) return;
    common::count(*context_.metrics, lmtp() ? common::Transport::lmtp : common::Transport::smtp, line);
    context_.metrics->count_link(link(), common::outcome_of(line));
}

} // namespace smtp_client
