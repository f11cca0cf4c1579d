#include "daemons/smtp-client/session/connection.h"
#include "daemons/common/config/local_listener.h"
#include "daemons/common/text/idn.h"
#include "daemons/common/runtime/crash_point.h"
#include "daemons/decide/outcome/failure.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fmt/format.h>

namespace smtp_client {

using common::Loop;
using namespace std::chrono_literals;
using namespace smtp::client_event;
namespace delivery = proto::delivery;

namespace {
constexpr std::size_t max_early_bytes = 16 * 1024; // bytes of a greeting

smtp::ClientSession::Timeouts timeouts(const config::SmtpClient& settings) {
    smtp::ClientSession::Timeouts out;
    out.banner = settings.greeting_timeout;
    out.ehlo = out.mail = out.rcpt = settings.command_timeout;
    out.data = settings.data_timeout;
    out.block = settings.block_timeout;
    out.final_dot = settings.final_dot_timeout;
    out.minimum_rate = settings.minimum_rate;
    out.transaction = settings.delivery_timeout;
    return out;
}
} // namespace

Connection::Connection(ClientContext& context, Owner& owner, delivery::Connect order, SessionObserver* observer)
    : context_(context), owner_(owner), observer_(observer), order_(std::move(order)),
      sources_(context.pool(order_.pool), order_.resting, context.settings.addresses_per_attempt, context.random),
      connector_(context, *this, order_.hosts, &sources_), deadline_(context.deadlines, [this] { expired(); }),
      hook_(context.loop, [this] { pump(); }),
      began_(Loop::now().monotonic) {
    hook_.schedule();
}

// --- finding an address
// ---------------------------------------------------------------------------------------

void Connection::drop_session() {
    deadline_.clear();
    session_.reset();
    stream_.reset();
    early_bytes_.clear();
    dane_lookup_.reset();
    in_session_ = 0;
    preparing_ = false;
    std::erase_if(jobs_, [](const auto& job) { return job->cut; }); // they have been given back
    for (auto& job : jobs_) job->content.reset(); // the next session's server may take it in another form
}

void Connection::try_next() {
    drop_session();
    current_.reset();
    deliveries_done_ = 0;
    up_ = plain_text_ = false;
    authenticator_.reset();
    sources_.next_server();
    if (!jobs_.empty()) sources_.prefer(last_deferral_source(*jobs_.front()));
    connector_.next();
}

void Connection::retry_same_address() {
    drop_session();
    up_ = false;
    connector_.retry_same();
}

void Connection::request_permission(const std::string& address, Connector::Owner::ConnectMode mode) {
    owner_.may_connect(*this, address, mode == Connector::Owner::ConnectMode::parallel);
}

void Connection::released(const std::string& address) { owner_.released(*this, address); }

void Connection::looked_up(const std::string& host, dns::Type type, const dns::Answer& answer) {
    if (observer_) observer_->looked_up(host, type, answer);
}

void Connection::unreachable(const Candidate& candidate, int error) {
    const bool from_nowhere = error == EADDRNOTAVAIL && sources_.has_pool() && !candidate.source && !candidate.local();
    const auto reason = from_nowhere ? sources_.why_no_source_for(candidate.endpoint.address) : std::strerror(error);
    address_may_exist_ = other_hosts_failed_ = true;
    sources_.next_server();
    session_number_ = context_.next_session();
    auto& why = (last_failure_ = {}).why;
    why.stage = smtp::Stage::connect;
    why.status = "4.4.1";
    const auto from = candidate.source ? " from " + candidate.source->address.to_string() : std::string();
    why.text = fmt::format("connect to {}{}: {}", candidate.relay(), from, reason);
    why.details.error = static_cast<std::uint16_t>(error);
    why.at = candidate.relay();
    log_context().info("{}", why.text);
    if (observer_) observer_->unreachable(candidate, why);
}

void Connection::no_address(const std::string& status, const std::string& text) {
    auto& why = no_address_verdict_.emplace();
    why.stage = smtp::Stage::lookup;
    why.status = decide::status_as(status, decide::Severity::temporary);
    why.text = text;
    if (!status.starts_with('5')) address_may_exist_ = other_hosts_failed_ = true;
    if (observer_) observer_->failed("", why);
}

void Connection::out_of_addresses(Connector::Owner::End end) {
    if (end == Connector::Owner::End::at_limit) return finish(End::at_limit);
    if (no_address_verdict_ && last_failure_.why.text.empty()) last_failure_.why = *no_address_verdict_;
    link_failed();
}

// Nobody's fault but the host's that is not to be used: its link works, unless that is the one host it is made of.
void Connection::refused_by_policy(const std::string& text) {
    auto& failure = (last_failure_ = {{}, relay(), "none"}).why;
    failure.stage = smtp::Stage::tls;
    failure.status = "4.7.5";
    failure.text = text;
    failure.details = failure_details(failure);
    failure.at = relay();
    other_hosts_failed_ = true;
    if (!is_failure_of_link()) policy_failure_ = last_failure_;
    log_context().info("{}", text);
    if (observer_) observer_->failed(relay(), failure);
    try_next();
}

void Connection::reached(const Candidate& candidate, std::unique_ptr<TlsStream> stream) {
    current_ = candidate;
    sources_.reached(candidate.source);
    stream_ = std::move(stream);
    session_number_ = context_.next_session();
    if (observer_) observer_->connected(relay(), sources_.description());
    if (!observer_ && loops_back(candidate)) return try_next(); // who looks on may ask ourselves, too
    address_may_exist_ = true;
    determine_tls_demand(); // → greet(), refused_by_policy()
}

void Connection::greet() {
    const auto now = Loop::now().monotonic;
    const bool pipelining =
        context_.settings.pipelining && context_.peer_history.may_pipeline(current_->endpoint.address, now);
    const bool chunking =
        context_.settings.chunking && context_.peer_history.may_send_chunks(current_->endpoint.address, now);
    using Session = smtp::ClientSession;
    session_.emplace(
        Session::Options{sources_.current() ? sources_.current()->helo : context_.settings.helo, current_->peer(),
                         pipelining ? Session::Pipelining::if_offered : Session::Pipelining::never, starttls_mode(),
                         timeouts(context_.settings), idn::ascii_domain, auth_options(), observer_ != nullptr,
                         current_->host.protocol, chunking ? Session::Chunking::if_useful : Session::Chunking::never},
        now);
    if (!early_bytes_.empty()) session_->feed(std::exchange(early_bytes_, {}), now);
    hook_.schedule(); // TLS may come first
    rearm();
}

// Only now it is known to which address a name has led. Mail sent there would come back until its hops are too many.
bool Connection::loops_back(const Candidate& candidate) {
    const auto& address = candidate.endpoint.address;
    if (candidate.local() || (!address.is_loopback() && stream_->local_address() != address.to_string())) return false;
    const auto* listener = config::local_listener(context_.listeners, candidate.endpoint);
    if (!listener) return false;
    last_failure_ = {{}, relay(), "none"};
    auto& why = last_failure_.why;
    why.stage = smtp::Stage::connect;
    why.status = "4.4.6";
    why.text = fmt::format("mail loops back to myself: {} is a listener of this system (listen.{})", relay(),
                           listener->name);
    log_context().warning("{}", why.text);
    return loop_found_ = true;
}

// The server greets while its records are still looked up.
void Connection::read_early() {
    auto space = context_.loop.read_buffer();
    const auto n = stream_->read(space);
    if (n > 0) early_bytes_.append(space.data(), static_cast<std::size_t>(n));
    if ((n < 0 && errno == EAGAIN) || (n > 0 && early_bytes_.size() <= max_early_bytes)) return;
    context_.peer_history.record_failure(current_->endpoint.address, Loop::now().monotonic);
    unreachable(*current_, n == 0 ? ECONNRESET : n < 0 ? errno : EPROTO);
    try_next();
}

// --- the conversation
// -----------------------------------------------------------------------------------------

void Connection::readable() {
    if (!session_ && stream_ && !over_) return read_early();
    bool more = true;
    while (more && !over_ && session_) {
        if (handshaking_) {
            continue_handshake();
            return pump();
        }
        auto space = context_.loop.read_buffer();
        const auto n = stream_->read(space);
        if (n > 0)
            session_->feed({space.data(), static_cast<std::size_t>(n)}, Loop::now().monotonic);
        else if (n == 0)
            session_->end_of_input(Loop::now().monotonic);
        else if (errno == EAGAIN)
            return;
        else
            session_->broken(std::strerror(errno), Loop::now().monotonic);
        more = n > 0 && stream_->tls(); // the socket will not say so again
        pump();
    }
}

// Takes what the session has to tell and writes what it has to say, until neither is left.
void Connection::pump() {
    if (over_) return;
    if (!started_) {
        started_ = true;
        if (!order_.pool.empty() && !sources_.has_pool()) return pool_missing();
        return try_next();
    }
    while (session_) {
        if (auto event = session_->next()) {
            on_event(*event);
            if (over_) return;
            continue;
        }
        continue_auth();
        feed_session();
        if (over_ || !session_) return; // it has left for another host
        if (!session_->has_output()) {
            if (auto event = session_->next()) { // a delivery that this server cannot take
                on_event(*event);
                if (over_) return;
                continue;
            }
            break;
        }
        if (!flush()) break;
    }
    if (session_) rearm();
}

// False: the kernel takes no more now, or the connection is broken (which the session knows then).
bool Connection::flush() {
    views_.clear();
    session_->output(views_);
    const auto written = stream_->write(views_);
    if (written < 0) {
        if (session_->over()) return false;
        session_->broken(std::strerror(errno), Loop::now().monotonic);
        return true;
    }
    session_->wrote(static_cast<std::size_t>(written), Loop::now().monotonic);
    if (session_->has_output()) return false;
    if (std::exchange(final_dot_unsent_, false)) CRASH_POINT("smtp-client.after_dot");
    return true;
}

void Connection::rearm() {
    if (preparing_)
        deadline_.set(Loop::now().monotonic);
    else if (const auto at = session_->next_deadline())
        deadline_.set(*at);
    else
        deadline_.clear();
}

void Connection::expired() {
    if (over_) return;
    if (!session_) return;
    session_->expired(Loop::now().monotonic);
    pump();
}

void Connection::on_event(smtp::ClientEvent& event) {
    if (std::holds_alternative<StartTls>(event)) {
        if (!session_->over()) start_tls();
    } else if (auto* wanted = std::get_if<AuthRequested>(&event)) {
        start_auth(wanted->mechanism);
    } else if (std::holds_alternative<Ready>(event)) {
        authenticated();
        setup_ = Loop::now().monotonic - began_;
        context_.peer_history.record_success(current_->endpoint.address);
        report_session_up();
        up_ = true;
        report_sources();
        if (!std::exchange(was_up_, true)) {
            owner_.connected(*this);
            CRASH_POINT("smtp-client.connected");
        }
    } else if (auto* wanted = std::get_if<ContentRequested>(&event)) {
        feed_session(); // the next delivery's commands leave with this one's content
        send_content(*wanted);
    } else if (auto* done = std::get_if<Finished>(&event)) {
        finished(done->result);
    } else if (auto* end = std::get_if<Ended>(&event)) {
        ended(*end);
    } else if (auto* sent = std::get_if<CommandSent>(&event)) {
        observer_->sent(relay(), *sent);
    } else if (auto* said = std::get_if<ReplyReceived>(&event)) {
        observer_->received(relay(), *said);
    }
}

// --- ends
// -----------------------------------------------------------------------------------------------------

// QUIT, if it can go at once.
void Connection::flush_last_output() {
    if (!session_->has_output()) return;
    views_.clear();
    session_->output(views_);
    static_cast<void>(stream_->write(views_));
}

void Connection::ended(Ended& end) {
    flush_last_output();
    store_resumption();
    const auto now = Loop::now().monotonic;
    if (end.distrust_pipelining) context_.peer_history.distrust_pipelining(current_->endpoint.address, now);
    if (end.distrust_chunking) context_.peer_history.distrust_chunking(current_->endpoint.address, now);
    const Job* interrupted = end.interrupted ? job_of(end.interrupted->id) : nullptr;
    if (end.orderly || (interrupted && interrupted->cut)) return finish(End::orderly);

    other_hosts_failed_ = true;
    if (observer_) observer_->failed(relay(), end.why);
    const auto failure = decide::classify({end.why.stage, end.why.code, end.why.status});
    const bool fresh = deliveries_done_ == 0; // nobody has been served here
    // Somebody else's verdict is among them: it must be told.
    const bool told =
        end.interrupted && (end.interrupted->verdicts.size() > 1 || end.interrupted->verdicts[0] != end.why);
    last_failure_ = {end.why, relay(), tls_description(), source()};
    last_failure_.why.details = failure_details(end.why);
    last_failure_.why.at = relay();
    if (end.why.stage == smtp::Stage::tls) report_tls_result(tls_result_, end.why.text);
    if (retry_from_another_source(end.why) || (end.interrupted && retry_from_another_source(*end.interrupted))) return;
    if (fresh && (retry_in_plain_text(end.why) || retry_with_new_token(end.why))) return;
    if (fresh && !told && end.distrust_chunking && end.why.code != 0) {
        log_context().info("{}; trying again with DATA", end.why.text);
        return retry_same_address();
    }
    // A destination that says 5xx is not to be got round.
    if (end.why.code >= 500 && current_->host.tier != decide::Tier::fallback) connector_.skip_fallback();
    if (end.why.stage == smtp::Stage::tls) {
        if (!is_failure_of_link()) policy_failure_ = last_failure_;
        log_context().info("{}", end.why.text);
        return try_next();
    }
    if (end.mail_accepted) mail_failure_ = last_failure_;
    if (fresh && !told && failure.next_host()) {
        context_.peer_history.record_failure(current_->endpoint.address, now);
        log_context().info("{}", end.why.text);
        return try_next();
    }
    if (!end.interrupted ||
        (fresh && !told && failure.kind == decide::FailureKind::connection && !end.mail_accepted))
        return link_failed();
    Job* job = job_of(end.interrupted->id);
    if (job && job->damaged) {
        delivery::Done done;
        done.connection = number();
        done.delivery = job->order.delivery;
        done.queue_id = job->order.queue_id;
        done.unreadable = true;
        jobs_.erase(std::ranges::find_if(jobs_, [&](auto& each) { return each.get() == job; }));
        owner_.done(*this, std::move(done), std::nullopt);
        return finish(End::orderly);
    }
    report(*end.interrupted);
    finish(End::failed, last_failure_.why);
}

smtp::FailureDetails Connection::failure_details(const smtp::Verdict& why) const {
    smtp::FailureDetails out{.timed_out = why.details.timed_out};
    out.implicit_tls = current_ && current_->host.tls_wrap;
    if (why.stage == smtp::Stage::tls) out.demand = demanded_by_;
    return out;
}

// No MX host has an address, say those who know: waiting changes nothing. What the operator has named himself (hosts to
// fall back on, a domain whose SRV records count) he can mend.
bool Connection::no_host_has_address() const {
    return order_.mx && no_address_verdict_ && !address_may_exist_ && !context_.soft_bounce &&
           std::ranges::all_of(order_.hosts,
                               [](auto& host) { return host.tier == decide::Tier::first && !host.tls_wrap; });
}

// What became of the delivery that was to go first, where that was found out without its conversation.
void Connection::fail_first_delivery(const AttemptFailure& failed, ReportTo report_to) {
    Job& job = *jobs_.front();
    if (!job.message)
        if (auto message = context_.messages.open(job.order.queue_id, job.order.location)) job.message = *std::move(message);
    smtp::Transaction readable;
    if (!job.message || !make_transaction(job.order, *job.message, readable)) return;
    const auto now = Loop::now().wall;
    for (std::size_t i = 0; i < job.order.recipients.size(); ++i) write_line(job, i, failed.why, failed.host, {}, now);
    if (report_to == ReportTo::log) return;
    auto done = make_done(job.order, failed.why);
    done.connection = number();
    done.host = failed.host;
    done.tls = failed.tls;
    done.source = failed.source;
    owner_.done(*this, std::move(done), std::move(job.message));
    jobs_.pop_front();
}

// No address is left, and a host that could be reached does not do what the message requires: that is the message's
// own affair. It is returned, unless one of the other hosts may do it another time.
void Connection::requirement_failed() {
    auto failed = *requirement_failure_;
    if (other_hosts_failed_) {
        failed.why.outcome = smtp::Outcome::deferred;
        failed.why.status = "4.7.30";
        failed.why.text += "; other hosts cannot be reached";
    }
    if (context_.soft_bounce) apply_soft_bounce(failed.why);
    fail_first_delivery(failed, ReportTo::log_and_owner);
    finish(End::orderly);
}

// No address is left. The message that was to go first says so; the others have not been tried.
void Connection::link_failed() {
    if (requirement_failure_ && !jobs_.empty() && jobs_.front()->order.delivery == requirement_delivery_)
        return requirement_failed();
    if (requirement_failure_ && !other_hosts_failed_)
        return finish(End::orderly); // it was taken away, and nothing else was the matter
    auto failed = mail_failure_ ? *mail_failure_ : policy_failure_ ? *policy_failure_ : last_failure_;
    auto& why = failed.why;
    const bool loop = loop_found_ && !address_may_exist_ && !context_.soft_bounce;
    const bool nowhere = loop || no_host_has_address();
    if (nowhere) {
        why.outcome = smtp::Outcome::failed;
        why.status = loop ? "5.4.6" : "5.4.4";
    } else if (why.outcome == smtp::Outcome::failed) {
        // What a server says of itself is no verdict on the mail: that waits.
        why.outcome = smtp::Outcome::deferred;
        if (why.status.starts_with('5')) why.status[0] = '4';
    }
    if (nowhere && !jobs_.empty() && jobs_.front()->probe) {
        smtp::TransactionResult result{jobs_.front()->order.delivery, {why}, {}};
        result.of_recipient.resize(jobs_.front()->probe->recipients.size());
        observer_->probed("", result);
    } else if (!jobs_.empty() && !jobs_.front()->probe) {
        // A server that accepted MAIL, or could be talked to without TLS, proved its link: what failed is
        // this message's try. So is one that leads nowhere: it is returned.
        fail_first_delivery(failed, mail_failure_ || policy_failure_ || nowhere ? ReportTo::log_and_owner : ReportTo::log);
    }
    why.status = decide::status_as(std::move(why.status), decide::Severity::temporary); // the link itself waits
    finish(End::failed, why);
}

void Connection::finish(End end, const smtp::Verdict& why) {
    if (std::exchange(over_, true)) return;
    report_unusable_sources();
    deadline_.clear();
    connector_.stop();
    delivery::Closed closed;
    closed.connection = number();
    closed.failed = end == End::failed;
    closed.at_address_limit = end == End::at_limit;
    closed.was_up = was_up_;
    if (closed.failed) closed.reason = why;
    closed.host = last_failure_.host.empty() ? relay() : last_failure_.host;
    owner_.closed(*this, std::move(closed));
}

} // namespace smtp_client
