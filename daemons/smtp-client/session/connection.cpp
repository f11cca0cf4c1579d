#include "daemons/smtp-client/session/connection.h"
#include "daemons/common/runtime/crash_point.h"
#include "daemons/decide/outcome/failure.h"
#include "daemons/smtp-client/message/results.h"
#include "daemons/smtp-client/session/delivery_report.h"
#include "daemons/smtp-client/session/hand_over.h"
#include "daemons/smtp-client/session/source_failover.h"
#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace smtp_client {

using common::Loop;
using namespace smtp::client_event;
namespace delivery = proto::delivery;
using By = delivery::SourceRefused::By;

namespace {

// No host of the order was named by the operator, who could name another one.
AttemptFailures::Hosts kind_of_hosts(const delivery::Connect& order) {
    const bool published = order.mx && std::ranges::all_of(order.hosts, [](auto& host) {
                               return host.tier == decide::Tier::first && !host.tls_wrap;
                           });
    return published ? AttemptFailures::Hosts::as_published : AttemptFailures::Hosts::may_change;
}

} // namespace

Connection::Connection(ClientContext& context, Connection::Owner& owner, delivery::Connect order,
                       SessionObserver* observer)
    : context_(context), owner_(owner), observer_(observer), order_(std::move(order)),
      sources_(context.pool(order_.pool), order_.resting, context.settings.addresses_per_attempt, context.random),
      failures_(context.soft_bounce ? AttemptFailures::SoftBounce::yes : AttemptFailures::SoftBounce::no),
      search_(context, *this, order_, sources_, failures_, observer),
      deadline_(context.deadlines, [this] { expired(); }), hook_(context.loop, [this] { pump(); }),
      began_(Loop::now().monotonic) {
    if (context_.keeps_dialogue) dialogue_.emplace();
    hook_.schedule();
}

// --- calls from the owner ---

void Connection::deliver(delivery::Deliver order) {
    if (over_) return;
    deliveries_.push(std::make_unique<DeliveryJob>(std::move(order)));
    hook_.schedule();
}

void Connection::probe(smtp::Transaction transaction, bool secure, const proto::route::StsPolicy& sts) {
    if (over_) return;
    deliveries_.push(std::make_unique<DeliveryJob>(std::move(transaction), secure, sts));
    hook_.schedule();
}

void Connection::close(NotStarted not_started) {
    if (over_) return;
    closing_ = true;
    if (not_started == NotStarted::drop) deliveries_.drop_waiting();
    if (!is_up() && deliveries_.empty()) return finish(End::orderly); // it is no longer needed
    hook_.schedule();
}

std::vector<std::uint64_t> Connection::recall() {
    if (over_) return {};
    auto out = deliveries_.recall(session());
    preparing_ = false;
    hook_.schedule(); // it may be to close
    return out;
}

Connection::CutOff Connection::cut(std::uint64_t delivery) {
    if (over_) return CutOff::unknown;
    const auto cut = deliveries_.cut(delivery, session());
    if (cut == DeliveryQueue::Cut::unknown) return CutOff::unknown;
    if (cut == DeliveryQueue::Cut::too_late) return CutOff::too_late;
    if (cut == DeliveryQueue::Cut::removed) {
        preparing_ = false;
        hook_.schedule();
    } else if (deliveries_.front().id() == delivery) {
        break_off_delivery(deliveries_.front().order().queue_id);
    }
    return CutOff::yes;
}

// --- callbacks from the host search ---

void Connection::may_connect(const std::string& address, ConnectMode mode) {
    owner_.may_connect(*this, address, mode == ConnectMode::parallel);
}

void Connection::session_left(For next) {
    deadline_.clear();
    preparing_ = false;
    deliveries_.session_ended();
    if (next == For::next_host) deliveries_done_ = 0;
}

void Connection::session_begun() {
    if (dialogue_)
        dialogue_->begin(relay(), search_.lmtp() ? Dialogue::DotReplies::of_each_recipient : Dialogue::DotReplies::one);
    hook_.schedule(); // TLS may come first
    rearm();
}

void Connection::no_host_left(HostSearch::Owner::End end) {
    if (end == HostSearch::Owner::End::at_limit) return finish(End::at_limit);
    failures_.out_of_addresses();
    link_failed();
}

smtp::ClientSession* Connection::session() {
    auto* host = search_.host();
    return host && host->greeted() ? &host->session() : nullptr;
}

const proto::route::StsPolicy* Connection::first_policy() const {
    return deliveries_.empty() ? nullptr : &deliveries_.front().order().sts;
}

// --- the conversation ---

void Connection::readable() {
    auto read = HostSession::Read::more; // the socket will not announce what TLS holds
    while (read == HostSession::Read::more && !over_ && session()) {
        read = search_.host()->read();
        if (read == HostSession::Read::nothing) return;
        pump();
    }
}

// Takes the session's events and writes its output, until neither is left.
void Connection::pump() {
    if (over_) return;
    if (!std::exchange(started_, true)) return search_.begin();
    while (session()) {
        if (auto event = session()->next()) {
            on_event(*event);
            if (over_) return;
            continue;
        }
        search_.host()->continue_auth();
        feed_session();
        if (over_ || !session()) return; // it has left for another host
        if (!session()->has_output()) {
            if (auto event = session()->next()) { // a delivery that this server cannot take
                on_event(*event);
                if (over_) return;
                continue;
            }
            break;
        }
        if (!search_.host()->flush()) break;
    }
    if (session()) rearm();
}

void Connection::rearm() {
    if (preparing_)
        deadline_.set(Loop::now().monotonic);
    else if (const auto at = session()->next_deadline())
        deadline_.set(*at);
    else
        deadline_.clear();
}

void Connection::expired() {
    if (over_ || !session()) return;
    session()->expired(Loop::now().monotonic);
    pump();
}

void Connection::on_event(smtp::ClientEvent& event) {
    if (std::holds_alternative<StartTls>(event)) {
        if (!session()->over()) search_.host()->start_tls();
    } else if (auto* asked = std::get_if<AuthRequested>(&event)) {
        search_.host()->start_auth(asked->mechanism);
    } else if (std::holds_alternative<Ready>(event)) {
        ready();
    } else if (auto* wanted = std::get_if<ContentRequested>(&event)) {
        content_requested(*wanted);
    } else if (auto* done = std::get_if<Finished>(&event)) {
        finished(done->result);
    } else if (auto* end = std::get_if<Ended>(&event)) {
        ended(*end);
    } else if (auto* sent = std::get_if<CommandSent>(&event)) {
        if (observer_) observer_->sent(relay(), *sent);
        if (dialogue_) dialogue_->sent(*sent);
    } else if (auto* received = std::get_if<ReplyReceived>(&event)) {
        if (observer_) observer_->received(relay(), *received);
        if (dialogue_) dialogue_->received(*received);
    }
}

void Connection::ready() {
    search_.host()->ready();
    setup_ = Loop::now().monotonic - began_;
    context_.peer_history.record_success(search_.current()->endpoint.address);
    if (const auto* policy = first_policy()) search_.host()->report_tls_of_session(*policy);
    if (const auto* from = sources_.current()) {
        log().info("{} reached from {} ({}), pool {}", relay(), source(), from->helo, sources_.pool_name());
        report_unusable_sources();
        for (auto& refusal : sources_.take_rejections()) // rejections before concerned other pool addresses
            owner_.source_refused(*this,
                                  {order_.link, std::move(refusal.source), std::move(refusal.why), By::connection});
    }
    if (std::exchange(was_up_, true)) return;
    owner_.connected(*this);
    CRASH_POINT("smtp-client.connected");
}

void Connection::report_unusable_sources() {
    for (auto& each : sources_.take_unusable())
        owner_.source_refused(*this, {order_.link, std::move(each), "this host does not have it", By::us});
}

// Passes deliveries to the session as long as it takes them.
void Connection::feed_session() {
    if (!session() || session()->over() || !is_up()) return;
    preparing_ = false;
    while (auto* job = session()->can_deliver() ? deliveries_.next() : nullptr)
        if (feed_next(*job) == Feed::pauses) break;
    if (closing_ && deliveries_.empty() && session()) session()->quit(Loop::now().monotonic);
}

Connection::Feed Connection::feed_next(DeliveryJob& job) {
    const bool idle = deliveries_.none_in_session();
    auto handed = hand_over(context_, job, *search_.host(), sources_, [this] { hook_.schedule(); });
    switch (handed.result) {
    case HandOver::Result::handed_over: deliveries_.next_handed_over(); return Feed::goes_on;
    case HandOver::Result::refused: return refuse(job, *handed.error);
    case HandOver::Result::not_now: return send_back_untried();
    case HandOver::Result::not_yet: preparing_ = true; break;
    case HandOver::Result::waits: break;
    case HandOver::Result::deferred: return defer(job, std::move(handed.text));
    // It leaves for there now, or after those under way.
    case HandOver::Result::requirement_missing:
        if (idle) try_another_host(job, std::move(handed.text));
        break;
    case HandOver::Result::other_source:
        if (idle) switch_source(job);
        break;
    }
    return Feed::pauses;
}

// Those under way finish first; then the rest goes back untried, which also frees a descriptor.
Connection::Feed Connection::send_back_untried() {
    closing_ = true;
    if (deliveries_.none_in_session()) deliveries_.drop_waiting();
    return Feed::pauses;
}

Connection::Feed Connection::refuse(DeliveryJob& job, const spool::ReadError& error) {
    if (const auto* world = std::get_if<spool::Error>(&error); world && spool::is_resource_exhaustion(*world)) {
        context_.log_shortage(*world);
        return send_back_untried();
    }
    log().warning("{}: {}", job.order().queue_id.text(), spool::text_of(error));
    owner_.done(*this, refused(facts(), job, error), std::nullopt);
    deliveries_.drop_next();
    return Feed::goes_on;
}

// For what is wrong here, whichever server would have got it: neither the link nor the queue has failed.
Connection::Feed Connection::defer(DeliveryJob& job, std::string text) {
    AttemptFailure failed;
    failed.why.stage = smtp::Stage::local;
    failed.why.status = "4.3.0";
    failed.why.text = std::move(text);
    auto done = report(facts(), context_.metrics, job, failed);
    owner_.done(*this, std::move(done), job.take_message());
    deliveries_.drop_next();
    return Feed::goes_on;
}

void Connection::content_requested(const ContentRequested& wanted) {
    feed_session(); // the next delivery's commands leave with this one's content
    auto* job = deliveries_.in_session(wanted.id);
    if (!job || session()->over()) return;
    if (job->is_cut()) return break_off_delivery(job->order().queue_id);
    send_content(*job, *search_.host(), wanted.from_start ? DeliveryJob::From::start : DeliveryJob::From::here);
}

// The conversation ends in the middle of that message: a server takes nothing that has no end.
void Connection::break_off_delivery(spool::QueueId id) {
    log().info("{}: delivery stopped before the content was sent: it was removed or has expired", id.text());
    session()->content_broken("the delivery was stopped by this system");
    hook_.schedule();
}

void Connection::finished(smtp::TransactionResult& result) {
    CRASH_POINT("smtp-client.after_reply");
    if (retry_from_another_source(result)) return;
    report_result(result);
    CRASH_POINT("smtp-client.after_done");
}

void Connection::report_result(const smtp::TransactionResult& replied) {
    const auto job = deliveries_.take(replied.id);
    if (!job) return;
    auto result = replied;
    const auto rules = reply_rules(job->probe() ? order_.replies : job->order().replies);
    // Recipients often share one reply: it is matched once, and is one warning.
    std::optional<std::pair<smtp::Verdict, smtp::Verdict>> last; // as replied, as taken
    for (auto& verdict : result.verdicts) {
        if (last && verdict == last->first) {
            verdict = last->second;
            continue;
        }
        last.emplace(verdict, verdict);
        apply_reply_rules(rules, verdict);
        if (context_.reply_patterns)
            if (const auto warning = apply_reply_patterns(*context_.reply_patterns, verdict); !warning.empty())
                log().warning("smtp_client.reply_rules: {}", warning);
        if (context_.soft_bounce) apply_soft_bounce(verdict);
        last->second = verdict;
    }
    ++deliveries_done_;
    if (job->probe()) return observer_->probed(relay(), result);
    // Mail was accepted, for all its recipients, from an address that the queue-manager regards as backing off.
    if (delivered_to_all(result) && sources_.is_backing_off()) {
        sources_.end_backoff();
        owner_.source_taken(*this, {order_.link, source()});
    }
    auto done = report(facts(), context_.metrics, *job, result);
    if (dialogue_) {
        if (!delivered_to_all(result)) done.dialogue = dialogue_->lines(result.id, job->order().recipients);
        dialogue_->transaction_over(result.id);
    }
    owner_.done(*this, std::move(done), job->take_message());
}

SessionFacts Connection::facts() {
    const auto* its = session();
    return search_.facts(deliveries_done_, its && its->extensions().esmtp ? setup_ : Loop::now().monotonic - began_);
}

// --- the host is left, or tried again ---

void Connection::leave_host(Deliveries deliveries) {
    search_.host()->wind_up();
    if (deliveries == Deliveries::go_on) return;
    deliveries_done_ = 0;
    began_ = Loop::now().monotonic;
    search_.restart_clock();
}

// The next one may do what this one does not.
void Connection::try_another_host(const DeliveryJob& job, std::string text) {
    AttemptFailure failed{{}, relay(), search_.host()->tls().description(), source()};
    failed.why.outcome = smtp::Outcome::failed;
    failed.why.status = "5.7.30";
    failed.why.text = std::move(text);
    log().info("{}: {}", job.order().queue_id.text(), failed.why.text);
    failures_.requirement_missing(std::move(failed), job.id());
    session()->quit(Loop::now().monotonic);
    leave_host();
    search_.try_next();
}

// A server that answers, and rejects us before any mail is mentioned, may mean our source address: trying the pool's
// next one shows. Silence and broken connections mean nothing of the kind.
bool Connection::retry_from_another_source(const smtp::Verdict& why) {
    const bool at_the_door = why.stage == smtp::Stage::banner || why.stage == smtp::Stage::ehlo;
    if (!sources_.current() || !at_the_door || why.code < 400 || is_up() || !sources_.rejected_by_server(why.text))
        return false;
    log().info("{}; trying again from {} instead of {}", why.text, next_source(sources_), source());
    search_.retry_same();
    return true;
}

// A rejection of our source address at MAIL or later: the address backs off, and if another one is left that does
// not, the mail goes from there. The reply then, or this one if none is left, is the verdict.
bool Connection::retry_from_another_source(smtp::TransactionResult& result) {
    const auto* job = deliveries_.in_session(result.id);
    auto refusal = job ? source_refusal(sources_, *job, result) : std::nullopt;
    if (!refusal) return false;
    owner_.source_refused(*this, {order_.link, std::move(refusal->source), std::move(refusal->why), By::mail});
    log().info("{}", refusal->text);
    if (refusal->next != SourceRefusal::Next::try_again) return false;
    if (session()->idle()) session()->quit(Loop::now().monotonic);
    leave_host(Deliveries::begin_again);
    search_.retry_same();
    return true;
}

// The same server once more, from the source address at which the delivery was deferred.
void Connection::switch_source(const DeliveryJob& job) {
    log().info("{}: was deferred when sent from {}; trying that address again instead of {}",
               job.order().queue_id.text(), next_source(sources_), source());
    session()->quit(Loop::now().monotonic);
    leave_host(Deliveries::begin_again);
    search_.retry_same();
}

// If TLS is only opportunistic, a server that offers it but cannot do it gets its mail without: once more to the same
// address.
bool Connection::retry_in_plain_text(const smtp::Verdict& why) {
    if (why.stage != smtp::Stage::tls || !search_.host()->tls().may_fall_back()) return false;
    log().info("{}; trying again in plain text", why.text);
    search_.retry_in_plain_text();
    return true;
}

// A cached token may no longer be valid: once more to the same address with a new one. A permanent rejection is
// passed on to the connections that wait with the same account.
bool Connection::retry_with_new_token(const smtp::Verdict& why) {
    auto* authenticator = search_.authenticator();
    if (!authenticator || why.stage != smtp::Stage::auth || why.code < 500) return false;
    if (!authenticator->rejected(why.text, Loop::now().monotonic)) return false;
    log().info("{}; trying again with a new token", why.text);
    search_.retry_same();
    return true;
}

// --- ends ---

void Connection::ended(Ended& end) {
    auto& host = *search_.host();
    host.wind_up();
    const auto now = Loop::now().monotonic;
    const auto address = host.host().endpoint.address;
    if (end.distrust_pipelining) context_.peer_history.distrust_pipelining(address, now);
    if (end.distrust_chunking) context_.peer_history.distrust_chunking(address, now);
    const auto* interrupted = end.interrupted ? deliveries_.in_session(end.interrupted->id) : nullptr;
    if (end.orderly || (interrupted && interrupted->is_cut())) return finish(End::orderly);

    if (observer_) observer_->failed(relay(), end.why);
    // A recipient may have another verdict, which must be reported.
    const bool others =
        end.interrupted && (end.interrupted->verdicts.size() > 1 || end.interrupted->verdicts[0] != end.why);
    const auto served = deliveries_done_ != 0 ? Served::deliveries : others ? Served::recipients : Served::nobody;
    failures_.host_failed(search_.failure_at_host(end.why));
    if (const auto* policy = first_policy(); policy && end.why.stage == smtp::Stage::tls)
        host.report_tls_result(host.tls().result(), end.why.text, *policy);
    if (retry_from_another_source(end.why) || (end.interrupted && retry_from_another_source(*end.interrupted))) return;
    if (retry_same_host(end, served) || go_to_next_host(end, served)) return;
    const auto failure = decide::classify({end.why.stage, end.why.code, end.why.status});
    const bool of_link =
        served == Served::nobody && failure.kind == decide::FailureKind::connection && !end.mail_accepted;
    if (!end.interrupted || of_link) return link_failed();
    report_interrupted(*end.interrupted);
}

bool Connection::retry_same_host(const Ended& end, Served served) {
    if (served == Served::deliveries) return false;
    if (retry_in_plain_text(end.why) || retry_with_new_token(end.why)) return true;
    if (served != Served::nobody || !end.distrust_chunking || end.why.code == 0) return false;
    log().info("{}; trying again with DATA", end.why.text);
    search_.retry_same();
    return true;
}

bool Connection::go_to_next_host(const Ended& end, Served served) {
    const auto& host = *search_.current();
    // A destination's 5xx must not be circumvented.
    if (end.why.code >= 500 && host.host.tier != decide::Tier::fallback) search_.skip_fallback();
    const auto failure = decide::classify({end.why.stage, end.why.code, end.why.status});
    if (end.why.stage == smtp::Stage::tls) {
        if (!search_.tls_failure_is_of_link()) failures_.last_was_for_policy();
    } else {
        if (end.mail_accepted) failures_.last_had_accepted_mail();
        if (served != Served::nobody || !failure.next_host()) return false;
        context_.peer_history.record_failure(host.endpoint.address, Loop::now().monotonic);
    }
    log().info("{}", end.why.text);
    search_.try_next();
    return true;
}

void Connection::report_interrupted(const smtp::TransactionResult& result) {
    const auto* job = deliveries_.in_session(result.id);
    if (job && job->is_damaged()) {
        auto done = unreadable(facts(), *job);
        deliveries_.take(result.id).reset();
        owner_.done(*this, std::move(done), std::nullopt);
        return finish(End::orderly);
    }
    report_result(result);
    finish(End::failed, failures_.last().why);
}

// The outcome of the delivery that was to go first, where it was determined without its conversation.
void Connection::fail_first_delivery(const AttemptFailure& failed, ReportTo report_to) {
    auto& job = deliveries_.front();
    static_cast<void>(job.open(context_));
    smtp::Transaction readable;
    if (!job.is_open() || !make_transaction(job.order(), job.message(), Loop::now(), readable)) return;
    auto done = report(facts(), context_.metrics, job, failed);
    if (dialogue_) done.dialogue = dialogue_->setup_lines();
    if (report_to == ReportTo::log) return;
    owner_.done(*this, std::move(done), job.take_message());
    deliveries_.take(job.id()).reset();
}

// No address is left. The message that was to go first reports it; the others have not been tried.
void Connection::link_failed() {
    const auto* first = first_delivery();
    if (first && failures_.is_for_requirement_of(first->id())) {
        fail_first_delivery(failures_.requirement_failure(), ReportTo::log_and_owner);
        return finish(End::orderly);
    }
    if (failures_.is_for_requirement_only())
        return finish(End::orderly); // it was taken away, and nothing else was wrong
    auto [failed, leads_nowhere, of_message] = failures_.conclude(kind_of_hosts(order_));
    if (leads_nowhere && first && first->probe()) {
        smtp::TransactionResult result{first->id(), {failed.why}, {}};
        result.of_recipient.resize(first->probe()->recipients.size());
        observer_->probed("", result);
    } else if (first && !first->probe()) {
        fail_first_delivery(failed, of_message ? ReportTo::log_and_owner : ReportTo::log);
    }
    auto& why = failed.why;
    why.status = decide::status_as(std::move(why.status), decide::Severity::temporary); // the link itself waits
    finish(End::failed, why);
}

void Connection::finish(End end, const smtp::Verdict& why) {
    if (std::exchange(over_, true)) return;
    report_unusable_sources();
    deadline_.clear();
    search_.stop();
    delivery::Closed closed;
    closed.connection = number();
    closed.failed = end == End::failed;
    closed.at_address_limit = end == End::at_limit;
    closed.was_up = was_up_;
    if (closed.failed) closed.reason = why;
    closed.host = failures_.last().host.empty() ? relay() : failures_.last().host;
    owner_.closed(*this, std::move(closed));
}

} // namespace smtp_client
