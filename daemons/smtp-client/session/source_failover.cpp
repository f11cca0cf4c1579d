// The part of a Connection that is about where it comes from: the addresses of its pool, what becomes of those
// that a server does not want, and who is told.
#include "daemons/decide/outcome/source_reputation.h"
#include "daemons/smtp-client/session/connection.h"
#include <algorithm>
#include <fmt/format.h>

namespace smtp_client {

using common::Loop;
using By = proto::delivery::SourceRefused::By;

// The mail waits: by another address it was not to go.
void Connection::pool_missing() {
    auto& why = (last_failure_ = {}).why;
    why.stage = smtp::Stage::connect;
    why.status = "4.3.5";
    why.text = fmt::format("there is no pool of source addresses \"{}\": add [pool.{}] to the configuration",
                           order_.pool, order_.pool);
    log_context().warning("{}", why.text);
    link_failed();
}

// A server that answers, and refuses before anybody's mail is spoken of, may mean the address we come from: the
// pool's next one shows. Silence and broken connections say nothing of the kind.
bool Connection::retry_from_another_source(const smtp::Verdict& why) {
    const bool at_the_door = why.stage == smtp::Stage::banner || why.stage == smtp::Stage::ehlo;
    if (!sources_.current() || !at_the_door || why.code < 400 || up_ || !sources_.rejected_by_server(why.text)) return false;
    log_context().info("{}; trying again from {} instead of {}", why.text, next_source(), source());
    retry_same_address();
    return true;
}

// The pool's address that mail would go from now, where it came from another.
std::string Connection::next_source() {
    return sources_.source_for(sources_.current()->address)->address.to_string();
}

// Words about the address we come from at MAIL or later: it rests, and where one is left that does not, the mail goes
// from there. What is said then, or where none is left, is the verdict. Who has the mail already does not get it again:
// then the others are tried later.
bool Connection::retry_from_another_source(smtp::TransactionResult& result) {
    const auto* from = sources_.current();
    const Job* job = job_of(result.id);
    if (!from || !job) return false;
    const auto source = from->address.to_string();
    const auto speaks = [&](const smtp::Verdict& verdict) {
        return decide::blames_source({verdict.stage, verdict.code, verdict.status}, verdict.remote_reply,
                                     {source, from->helo});
    };
    const auto blames = [&](const smtp::Verdict& verdict) { return !speaks(verdict).empty(); };
    const auto why = std::ranges::find_if(result.verdicts, blames);
    if (why == result.verdicts.end()) return false;
    const auto told = fmt::format("{}: {}; this concerns {} (\"{}\")", job->probe ? "try" : job->order.queue_id.text(),
                                  why->text, source, speaks(*why));
    owner_.source_refused(*this, {order_.link, source, why->text, By::mail});
    if (!sources_.rejected_by_site()) {
        log_context().info("{}, and all other usable addresses of the pool {} are backing off", told,
                           sources_.pool_name());
        return false;
    }
    const bool begun = std::ranges::any_of(result.verdicts, [](const smtp::Verdict& verdict) {
        return verdict.outcome == smtp::Outcome::delivered || verdict.in_doubt;
    });
    log_context().info("{}; trying again {}from {}", told, begun ? "later " : "", next_source());
    if (begun) {
        for (auto& verdict : result.verdicts)
            if (blames(verdict)) apply_soft_bounce(verdict);
        return false;
    }
    if (session_->idle()) session_->quit(Loop::now().monotonic);
    flush_last_output();
    store_resumption();
    deliveries_done_ = 0;
    began_ = Loop::now().monotonic;
    retry_same_address();
    return true;
}

// The address of the pool that the delivery came from when a server last answered it with 4xx: greylisting counts the time
// for each address. "": none.
std::string Connection::last_deferral_source(Job& job) {
    if (!sources_.has_pool() || job.probe) return {};
    std::optional<spool::MessageReader> looked_into; // while it waits for a server it needs no descriptor
    if (!job.message) {
        auto message = context_.messages.open(job.order.queue_id, job.order.location);
        if (!message) return {}; // why, is found again when it is handed over
        looked_into = *std::move(message);
    }
    const auto& recipients = (job.message ? *job.message : *looked_into).state().recipients;
    for (const auto number : job.order.recipients) {
        if (number >= recipients.size() || recipients[number].attempts.empty()) continue;
        const auto& last = recipients[number].attempts.back();
        if (last.outcome == spool::Outcome::deferred && last.reply.code >= 400 && last.reply.code < 500) return last.source;
    }
    return {};
}

// The same server once more, from the address that the delivery was put off at.
void Connection::switch_source(Job& job) {
    log_context().info("{}: was deferred when sent from {}; trying that address again instead of {}",
                 job.order.queue_id.text(), next_source(), source());
    session_->quit(Loop::now().monotonic);
    flush_last_output();
    store_resumption();
    deliveries_done_ = 0;
    began_ = Loop::now().monotonic;
    retry_same_address();
}

// Mail was taken, for all whom it was for, from an address that the queue-manager takes for a resting one.
void Connection::report_source_accepted(const smtp::TransactionResult& result) {
    const bool taken = std::ranges::all_of(result.verdicts, [](const smtp::Verdict& verdict) {
        return verdict.outcome == smtp::Outcome::delivered;
    });
    if (!taken || !sources_.is_backing_off()) return;
    sources_.end_backoff();
    owner_.source_taken(*this, {order_.link, source()});
}

// It is up. What others of the pool were told before, was about them.
void Connection::report_sources() {
    if (!sources_.current()) return;
    log_context().info("{} reached from {} ({}), pool {}", relay(), source(), sources_.current()->helo,
                       sources_.pool_name());
    report_unusable_sources();
    for (auto& refusal : sources_.take_rejections())
        owner_.source_refused(*this, {order_.link, std::move(refusal.source), std::move(refusal.why), By::connection});
}

void Connection::report_unusable_sources() {
    for (auto& each : sources_.take_unusable())
        owner_.source_refused(*this, {order_.link, std::move(each), "this host does not have it", By::us});
}

} // namespace smtp_client
