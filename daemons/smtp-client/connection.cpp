#include "daemons/smtp-client/connection.h"
#include "daemons/common/idn.h"
#include "daemons/common/kill_point.h"
#include "daemons/decide/failure.h"
#include "libsmtp/utf8.h"
#include <algorithm>
#include <cstring>
#include <fmt/format.h>

namespace smtp_client {

using common::Loop;
using namespace std::chrono_literals;
using namespace smtp::client_event;
namespace delivery = proto::delivery;

namespace {
constexpr std::size_t piece_size = 256 * 1024;

smtp::ClientSession::Timeouts timeouts(const config::SmtpClient& settings) {
    smtp::ClientSession::Timeouts out;
    out.banner = settings.greeting_timeout;
    out.ehlo = out.mail = out.rcpt = settings.command_timeout;
    out.data = settings.data_timeout;
    out.block = settings.block_timeout;
    out.final_dot = settings.final_dot_timeout;
    return out;
}
} // namespace

Connection::Connection(Office& office, Owner& owner, delivery::Connect order)
    : office_(office), owner_(owner), order_(std::move(order)),
      walk_(office.resolver, office.peers, office.random,
            {office.settings.ipv4, office.settings.ipv6, office.settings.addresses_per_attempt},
            order_.hosts),
      deadline_(office.deadlines, [this] { expired(); }), hook_(office.loop, [this] { pump(); }),
      began_(Loop::now().monotonic) {
    for (const auto& text : order_.replies)
        if (auto rule = decide::ReplyRule::parse(text)) reply_rules_.push_back(*std::move(rule));
    hook_.schedule();
}

// --- finding an address
// ---------------------------------------------------------------------------------------

void Connection::try_next() {
    deadline_.clear();
    session_.reset();
    wire_.reset();
    current_.reset();
    handed_ = 0;
    uses_ = 0;
    up_ = plain_text_ = false;
    walk_.next([this](std::optional<Candidate> found) { candidate(std::move(found)); });
}

void Connection::candidate(std::optional<Candidate> found) {
    if (over_) return;
    // Hosts of a worse preference are for when the better ones fail, not for when we ourselves fill those.
    if (crowded_ && (!found || found->preference > *crowded_)) return finish(End::crowded);
    if (!found) {
        if (const auto& nowhere = walk_.no_address(); nowhere && last_failure_.why.text.empty()) {
            last_failure_.why.stage = smtp::Stage::lookup;
            last_failure_.why.status = nowhere->status;
            last_failure_.why.text = nowhere->text;
        }
        return link_failed();
    }
    current_ = std::move(found);
    asking_ = true;
    owner_.may_connect(*this, current_->endpoint.to_string());
}

void Connection::permit(Permit permit) {
    if (over_ || !std::exchange(asking_, false)) return;
    if (permit == Permit::crowded) {
        crowded_ = std::min(crowded_.value_or(current_->preference), current_->preference);
        return try_next();
    }
    session_number_ = office_.next_session();
    open_socket();
}

void Connection::open_socket() {
    auto wire =
        Wire::connect(office_.loop, current_->endpoint,
                      {[this](int error) { connected(error); }, [this] { read(); }, [this] { pump(); }});
    if (!wire && spool::is_out_of_means(wire.error())) {
        starved(wire.error());
        deadline_.set(Loop::now().monotonic + 1s);
        return;
    }
    if (!wire) return connect_failed(wire.error());
    wire_ = *std::move(wire);
    deadline_.set(Loop::now().monotonic + office_.settings.connect_timeout);
}

// This host's shortage is nobody's failure: what waits, waits.
void Connection::starved(const spool::Error& error) {
    const auto now = Loop::now().monotonic;
    if (office_.starved && now - *office_.starved < 30s) return;
    office_.starved = now;
    office_.log.warning("{}: deliveries wait until this host has what they need", error.what);
}

void Connection::connect_failed(const spool::Error& error) {
    auto& why = (last_failure_ = {}).why;
    why.stage = smtp::Stage::connect;
    why.status = "4.4.1";
    why.text = fmt::format("connect to {}: {}", current_->relay(), std::strerror(error.code));
    voice().info("{}", why.text);
    office_.peers.failed(current_->endpoint.address, Loop::now().monotonic);
    try_next();
}

void Connection::connected(int error) {
    if (error != 0) return connect_failed({error, "connect"});
    const auto now = Loop::now().monotonic;
    const bool pipelining =
        office_.settings.pipelining && office_.peers.may_pipeline(current_->endpoint.address, now);
    using Session = smtp::ClientSession;
    session_.emplace(
        Session::Options{office_.settings.helo, current_->peer(),
                         pipelining ? Session::Pipelining::if_offered : Session::Pipelining::never,
                         tls_wanted(), timeouts(office_.settings), idn::ascii_domain},
        now);
    rearm();
}

// --- the conversation
// -----------------------------------------------------------------------------------------

void Connection::read() {
    bool more = true;
    while (more && !over_ && session_) {
        if (shaking_hands_) {
            shake_hands();
            return pump();
        }
        auto space = office_.loop.read_buffer();
        const auto n = wire_->read(space);
        if (n > 0)
            session_->feed({space.data(), static_cast<std::size_t>(n)}, Loop::now().monotonic);
        else if (n == 0)
            session_->end_of_input(Loop::now().monotonic);
        else if (errno == EAGAIN)
            return;
        else
            session_->broken(std::strerror(errno), Loop::now().monotonic);
        more = n > 0 && wire_->tls(); // the socket will not say so again
        pump();
    }
}

// Takes what the session has to tell and writes what it has to say, until neither is left.
void Connection::pump() {
    if (over_) return;
    if (!started_) {
        started_ = true;
        return try_next();
    }
    while (session_) {
        if (auto event = session_->next()) {
            take(*event);
            if (over_) return;
            continue;
        }
        fill();
        if (!session_->has_output()) {
            if (auto event = session_->next()) { // a delivery that this server cannot take
                take(*event);
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
    const auto written = wire_->write(views_);
    if (written < 0) {
        if (session_->over()) return false;
        session_->broken(std::strerror(errno), Loop::now().monotonic);
        return true;
    }
    session_->wrote(static_cast<std::size_t>(written), Loop::now().monotonic);
    if (session_->has_output()) return false;
    if (std::exchange(dot_under_way_, false)) KILL_POINT("smtp-client.after_dot");
    return true;
}

void Connection::rearm() {
    if (const auto at = session_->next_deadline())
        deadline_.set(*at);
    else
        deadline_.clear();
}

void Connection::expired() {
    if (over_) return;
    if (!wire_) return open_socket(); // as often as it takes
    if (!session_) return connect_failed({ETIMEDOUT, "connect"});
    session_->expired(Loop::now().monotonic);
    pump();
}

void Connection::take(smtp::ClientEvent& event) {
    if (std::holds_alternative<StartTls>(event)) {
        if (!session_->over()) start_tls();
    } else if (std::holds_alternative<Up>(event)) {
        setup_ = Loop::now().monotonic - began_;
        office_.peers.worked(current_->endpoint.address);
        up_ = true;
        if (!std::exchange(was_up_, true)) {
            owner_.connected(*this);
            KILL_POINT("smtp-client.connected");
        }
    } else if (auto* wanted = std::get_if<ContentWanted>(&event)) {
        fill(); // the next delivery's commands leave with this one's content
        give_content(*wanted);
    } else if (auto* done = std::get_if<Finished>(&event)) {
        finished(done->result);
    } else if (auto* end = std::get_if<Ended>(&event)) {
        ended(*end);
    }
}

// --- deliveries
// -----------------------------------------------------------------------------------------------

void Connection::deliver(delivery::Deliver order) {
    if (over_) return;
    jobs_.push_back(std::make_unique<Job>(Job{std::move(order)}));
    hook_.schedule();
}

void Connection::close(Unbegun unbegun) {
    if (over_) return;
    closing_ = true;
    if (unbegun == Unbegun::drop) jobs_.resize(handed_);
    if (!up_ && jobs_.empty()) return finish(End::orderly); // nobody needs it any more
    hook_.schedule();
}

// Hands deliveries to the session as long as it takes them.
void Connection::fill() {
    if (!session_ || session_->over() || !up_) return;
    while (handed_ < jobs_.size() && session_->has_room()) {
        const auto handed = hand_over(*jobs_[handed_]);
        if (handed == HandedOver::not_now) {
            // Those under way first; then the rest goes back untried, and a descriptor with it.
            closing_ = true;
            if (handed_ == 0) jobs_.clear();
            break;
        }
        if (handed == HandedOver::yes)
            ++handed_;
        else
            jobs_.erase(jobs_.begin() + static_cast<std::ptrdiff_t>(handed_));
    }
    if (closing_ && jobs_.empty()) session_->quit(Loop::now().monotonic);
}

Connection::HandedOver Connection::hand_over(Job& job) {
    const auto refuse_it = [&](const spool::ReadError& error) {
        if (const auto* world = std::get_if<spool::Error>(&error); world && spool::is_out_of_means(*world)) {
            starved(*world);
            return HandedOver::not_now;
        }
        refuse(job, error);
        return HandedOver::refused;
    };
    if (!job.message) { // else it was open for the address before
        auto message = spool::MessageReader::open(office_.disk, job.order.queue_id, job.order.location);
        if (!message) return refuse_it(message.error());
        job.message = *std::move(message);
        // A damaged message is found before the server hears of it, where the whole is at hand.
        if (job.message->is_small())
            if (auto content = job.message->small_content(); !content) return refuse_it(content.error());
    }
    if (!satisfies(tls_, level_of(job))) { // the connection was made for mail that needs less
        job.message.reset();
        return HandedOver::not_now;
    }
    smtp::Transaction transaction;
    if (!make_transaction(job.order, *job.message, transaction))
        return refuse_it(spool::Error{0, "the message's file has no such recipient"});
    if (job.message->envelope().smtputf8 && job.message->content().eight_bit) {
        const auto header = job.message->read_header();
        if (!header) return refuse_it(header.error());
        transaction.utf8_header = !smtp::is_ascii(*header);
    }
    session_->deliver(std::move(transaction), Loop::now().monotonic);
    return HandedOver::yes;
}

void Connection::refuse(Job& job, const spool::ReadError& error) {
    const auto* world = std::get_if<spool::Error>(&error);
    const auto text = spool::text_of(error);
    smtp::Verdict verdict;
    verdict.status = "4.3.0";
    verdict.text = smtp::printable(text);
    auto done = delivery::Done{};
    if (world && world->code != ENOENT) {
        done = make_done(job.order, verdict);
    } else {
        done.delivery = job.order.delivery;
        done.queue_id = job.order.queue_id;
        done.gone = world != nullptr;
        done.unreadable = world == nullptr;
    }
    done.connection = number();
    voice().warning("{}: {}", job.order.queue_id.text(), text);
    owner_.done(*this, std::move(done), std::nullopt);
}

void Connection::give_content(const ContentWanted& wanted) {
    Job* job = job_of(wanted.id);
    if (!job || session_->over()) return;
    const auto now = Loop::now().monotonic;
    if (wanted.from_start) job->sent = 0;
    const auto size = job->message->size();
    if (job->sent < size) {
        auto piece = job->message->is_small() ? job->message->small_content()
                                              : job->message->piece(job->sent, piece_size);
        if (!piece || piece->empty()) {
            job->damaged = !piece && std::holds_alternative<spool::Damaged>(piece.error());
            const auto why =
                piece ? std::string("the message's file ends too early") : spool::text_of(piece.error());
            voice().warning("{}: {}", job->order.queue_id.text(), why);
            return session_->content_broken(why);
        }
        job->sent += piece->size();
        session_->content(*piece, now);
    }
    if (job->sent < size) return;
    KILL_POINT("smtp-client.before_dot");
    session_->content_end(now);
    dot_under_way_ = true;
}

Connection::Job* Connection::job_of(std::uint64_t id) {
    for (std::size_t i = 0; i < handed_; ++i)
        if (jobs_[i]->order.delivery == id) return jobs_[i].get();
    return nullptr;
}

void Connection::finished(const smtp::TransactionResult& result) {
    KILL_POINT("smtp-client.after_reply");
    report(result);
    KILL_POINT("smtp-client.after_done");
}

void Connection::report(const smtp::TransactionResult& said) {
    smtp::TransactionResult result = said;
    for (auto& verdict : result.verdicts) reread(reply_rules_, verdict);
    const auto place =
        std::ranges::find_if(jobs_, [&](auto& job) { return job->order.delivery == result.id; });
    if (place == jobs_.end()) return;
    const auto job = std::move(*place);
    jobs_.erase(place);
    --handed_;
    ++uses_;
    const auto now = Loop::now();
    const auto transmission =
        result.started == smtp::Monotonic{} ? smtp::Duration{} : result.finished - result.started;
    for (std::size_t i = 0; i < result.of_recipient.size(); ++i)
        write_line(*job, i, result.verdicts[result.of_recipient[i]], relay(), transmission, now.wall);

    auto done = make_done(job->order, job->message->state(), result);
    done.connection = number();
    done.host = relay();
    done.tls = tls_named();
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
    const auto setup = session_ && session_->offers().esmtp ? setup_ : Loop::now().monotonic - began_;
    common::DeliveryLine line;
    line.queue_id = job.order.queue_id;
    line.to = recipient.address;
    line.original_to = state.envelope_of(recipient).address;
    if (!relay.empty()) line.relay = relay;
    line.connection_use = std::max<std::uint64_t>(1, uses_);
    line.delays = common::Delays::of(
        arrived, queued, uses_ <= 1 ? std::min(setup, waited) : smtp::Duration(0), transmission, now);
    line.status = verdict.status;
    const auto outcome = outcome_of(verdict);
    line.outcome = outcome == delivery::Outcome::delivered  ? "sent"
                   : outcome == delivery::Outcome::deferred ? "deferred"
                                                            : "bounced";
    line.reason = verdict.text;
    common::write(voice(), line);
}

// --- ends
// -----------------------------------------------------------------------------------------------------

void Connection::ended(Ended& end) {
    if (session_->has_output()) { // QUIT, if it can go at once
        views_.clear();
        session_->output(views_);
        static_cast<void>(wire_->write(views_));
    }
    keep_resumption();
    const auto now = Loop::now().monotonic;
    if (end.distrust_pipelining) office_.peers.distrust_pipelining(current_->endpoint.address, now);
    if (end.orderly) return finish(End::orderly);

    const auto failure = decide::classify({end.why.stage, end.why.code, end.why.status});
    const bool fresh = uses_ == 0; // nobody has been served here
    // Somebody else's verdict is among them: it must be told.
    const bool told =
        end.interrupted && (end.interrupted->verdicts.size() > 1 || end.interrupted->verdicts[0] != end.why);
    last_failure_ = {end.why, relay(), tls_named()};
    if (fresh && again_in_plain_text(end.why)) return;
    if (end.why.stage == smtp::Stage::tls) {
        policy_failure_ = last_failure_;
        voice().info("{}", end.why.text);
        return try_next();
    }
    if (end.mail_accepted) mail_failure_ = last_failure_;
    if (fresh && !told && failure.next_host()) {
        office_.peers.failed(current_->endpoint.address, now);
        voice().info("{}", end.why.text);
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
    finish(End::failed, end.why);
}

// No address is left. The message that was to go first says so; the others have not been tried.
void Connection::link_failed() {
    auto [why, host, tls] = mail_failure_ ? *mail_failure_ : policy_failure_ ? *policy_failure_ : last_failure_;
    if (why.outcome == smtp::Verdict::Outcome::permanent) {
        // What a server says of itself is no verdict on the mail: that waits.
        why.outcome = smtp::Verdict::Outcome::temporary;
        if (why.status.starts_with('5')) why.status[0] = '4';
    }
    if (!jobs_.empty()) {
        Job& job = *jobs_.front();
        if (!job.message)
            if (auto message =
                    spool::MessageReader::open(office_.disk, job.order.queue_id, job.order.location))
                job.message = *std::move(message);
        smtp::Transaction readable;
        if (job.message && make_transaction(job.order, *job.message, readable)) {
            const auto now = Loop::now().wall;
            for (std::size_t i = 0; i < job.order.recipients.size(); ++i)
                write_line(job, i, why, host, {}, now);
            // A server that accepted MAIL, or could be talked to without TLS, proved its link: what failed is
            // this message's try.
            if (mail_failure_ || policy_failure_) {
                auto done = make_done(job.order, why);
                done.connection = number();
                done.host = host;
                done.tls = tls;
                owner_.done(*this, std::move(done), std::move(job.message));
                jobs_.pop_front();
            }
        }
    }
    finish(End::failed, why);
}

void Connection::finish(End end, const smtp::Verdict& why) {
    if (std::exchange(over_, true)) return;
    deadline_.clear();
    delivery::Closed closed;
    closed.connection = number();
    closed.failed = end == End::failed;
    closed.crowded = end == End::crowded;
    closed.was_up = was_up_;
    if (closed.failed) closed.reason = reply_of(why);
    closed.host = last_failure_.host.empty() ? relay() : last_failure_.host;
    owner_.closed(*this, std::move(closed));
}

} // namespace smtp_client
