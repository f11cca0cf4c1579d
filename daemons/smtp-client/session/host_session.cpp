#include "daemons/smtp-client/session/host_session.h"
#include "daemons/common/runtime/crash_point.h"
#include "daemons/common/text/idn.h"
#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <utility>

namespace smtp_client {

using common::Loop;
using Session = smtp::ClientSession;

namespace {

constexpr std::size_t max_early_bytes = 16 * 1024; // bytes of a greeting

Session::Timeouts timeouts(const config::SmtpClient& settings) {
    Session::Timeouts out;
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

HostSession::HostSession(ClientContext& context, SetupClock& clock, SessionObserver* observer, Candidate host,
                         std::unique_ptr<TlsStream> stream, const config::SourceAddress* source, TlsNegotiation tls,
                         common::LogContext log)
    : context_(context), clock_(clock), observer_(observer), host_(std::move(host)), source_(source), log_(log),
      tls_(std::move(tls)), stream_(std::move(stream)) {}

void HostSession::look_up_records(std::function<void()> done) {
    clock_.enter(&proto::delivery::SetupTimes::dns, Loop::now().monotonic);
    dane_lookup_.emplace(context_.resolver, host_.name(), host_.endpoint.port, true,
                         [this, done = std::move(done)](const decide::DaneResult& records) {
                             tls_.set_records(records);
                             done(); // may destroy this
                         });
    dane_lookup_->start();
}

void HostSession::greet(Authenticator* authenticator) {
    authenticator_ = authenticator;
    const auto now = Loop::now().monotonic;
    clock_.enter(&proto::delivery::SetupTimes::session, now);
    const auto& address = host_.endpoint.address;
    const bool pipelining = context_.settings.pipelining && context_.peer_history.may_pipeline(address, now);
    const bool chunking = context_.settings.chunking && context_.peer_history.may_send_chunks(address, now);
    using Available = TlsNegotiation::Available;
    Session::Options options;
    options.name = source_ ? source_->helo : context_.settings.helo;
    options.peer = host_.peer();
    options.pipelining = pipelining ? Session::Pipelining::if_offered : Session::Pipelining::never;
    options.tls = tls_.starttls_mode(tls_.needs().tls ? Available::yes : Available::no);
    options.timeouts = timeouts(context_.settings);
    options.ascii_domain = idn::ascii_domain;
    if (authenticator_) options.auth = authenticator_->auth();
    options.report_dialogue = observer_ != nullptr || context_.keeps_dialogue;
    options.protocol = host_.host.protocol;
    options.chunking = chunking ? Session::Chunking::if_useful : Session::Chunking::never;
    session_.emplace(std::move(options), now);
    if (!early_bytes_.empty()) session_->feed(std::exchange(early_bytes_, {}), now);
}

// --- bytes ---

int HostSession::read_early() {
    auto space = context_.loop.read_buffer();
    const auto n = stream_->read(space);
    if (n > 0) early_bytes_.append(space.data(), static_cast<std::size_t>(n));
    if ((n < 0 && errno == EAGAIN) || (n > 0 && early_bytes_.size() <= max_early_bytes)) return 0;
    return n == 0 ? ECONNRESET : n < 0 ? errno : EPROTO;
}

HostSession::Read HostSession::read() {
    if (handshaking_) {
        continue_handshake();
        return Read::once;
    }
    auto space = context_.loop.read_buffer();
    const auto n = stream_->read(space);
    const auto now = Loop::now().monotonic;
    if (n > 0)
        session_->feed({space.data(), static_cast<std::size_t>(n)}, now);
    else if (n == 0)
        session_->end_of_input(now);
    else if (errno == EAGAIN)
        return Read::nothing;
    else // a server that misses our certificate, or rejects it, says so here
        session_->broken(errno == EPROTO && stream_->tls() ? stream_->tls()->error() : std::strerror(errno), now);
    return n > 0 && stream_->tls() ? Read::more : Read::once;
}

bool HostSession::flush() {
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

void HostSession::wind_up() {
    if (session_->has_output()) {
        views_.clear();
        session_->output(views_);
        static_cast<void>(stream_->write(views_));
    }
    // Of a session that served: one whose certificate was refused would bring that verdict back with it. Nor from
    // before a reload, which may have changed whom we trust.
    if (up_ && stream_->tls() && context_.is_current(*stream_->tls()))
        context_.resumptions.store(resumption_name(), stream_->tls()->resumable_session());
}

// --- TLS ---

std::string HostSession::resumption_name() const {
    return tls_.resumption_name(host_.relay(), source_ ? source_->address.to_string() : std::string());
}

void HostSession::start_tls() {
    // An operator who looks on wants to see the whole handshake.
    const auto from = observer_ ? tls::ResumableSession() : context_.resumptions.take(resumption_name());
    const auto& context = tls_.needs().tls;
    auto session = context ? tls::Session::connect(context, tls_.identity(), from.get()) : nullptr;
    clock_.enter(&proto::delivery::SetupTimes::tls, Loop::now().monotonic);
    tls_.begin_handshake();
    if (!session) return session_->tls_failed("TLS cannot be started on this system", Loop::now().monotonic);
    stream_->start_tls(std::move(session));
    handshaking_ = true;
    continue_handshake();
}

void HostSession::continue_handshake() {
    const auto outcome = stream_->continue_handshake();
    if (outcome == TlsStream::Handshake::under_way) return;
    handshaking_ = false;
    clock_.enter(&proto::delivery::SetupTimes::session, Loop::now().monotonic);
    if (outcome == TlsStream::Handshake::failed)
        return session_->tls_failed(
            fmt::format("TLS handshake with {} failed: {}", host_.peer(), stream_->handshake_error()),
            Loop::now().monotonic);
    judge_certificate();
}

void HostSession::judge_certificate() {
    const auto facts = stream_->tls()->info();
    const auto judgement = stream_->tls()->verdict();
    const bool satisfied = tls_.judge(facts, judgement);
    const bool verified = tls_.state().verified();
    const auto how = tls_.proven_how();
    log_.info("{} TLS connection established to {}: {}{}{}",
              verified                        ? "Verified"
              : judgement.certificate.empty() ? "Anonymous"
                                              : "Untrusted",
              host_.relay(), facts.text(), verified ? ", " : "", how);
    if (context_.metrics)
        context_.metrics->count(common::MetricId::client_tls_sessions, common::tls_used(facts.version));
    if (observer_) observer_->handshake_done(host_.relay(), facts, judgement, how, tls_.needs().level);
    const auto now = Loop::now().monotonic;
    if (satisfied)
        session_->tls_up(verified ? Session::Peer::verified : Session::Peer::unverified, now);
    else
        session_->tls_failed(tls_.certificate_mismatch_text(judgement), now);
}

void HostSession::report_tls_result(decide::TlsResult result, const std::string& reason,
                                    const proto::route::StsPolicy& policy) const {
    if (observer_ || !context_.tls_outcome) return; // observed: no mail was to go by it
    auto outcome = tls_.outcome(result, reason, policy);
    if (!outcome) return;
    outcome->address = host_.endpoint.address.to_string();
    outcome->helo = session_ ? session_->server_name() : "";
    outcome->sender = stream_->local_address();
    context_.tls_outcome(*outcome);
}

void HostSession::report_tls_of_session(const proto::route::StsPolicy& policy) const {
    if (const auto finding = tls_.finding_of_session(policy))
        report_tls_result(finding->result, finding->reason, policy);
}

// --- AUTH ---

void HostSession::start_auth(smtp::SaslMechanism mechanism) {
    if (session_->over()) return;
    const auto* tls = stream_->tls();
    authenticator_->begin(
        mechanism, tls ? [tls](std::string_view type) { return tls->channel_binding(type); } : Authenticator::Binding(),
        Loop::now().monotonic);
    if (observer_) observer_->authenticating(authenticator_->description());
}

void HostSession::continue_auth() {
    if (!authenticator_ || up_ || session_->over()) return;
    auto answer = authenticator_->next();
    const auto now = Loop::now().monotonic;
    if (auto* client = std::get_if<smtp::SaslClient>(&answer)) session_->authenticate(std::move(*client), now);
    if (auto* problem = std::get_if<Authenticator::Problem>(&answer))
        session_->auth_failed(problem->status, problem->text, now);
}

void HostSession::ready() {
    if (authenticator_) {
        authenticator_->accepted();
        log_.info("authenticated to {} as {}", host_.relay(), authenticator_->description());
    }
    up_ = true;
    clock_.enter(nullptr, Loop::now().monotonic);
}

} // namespace smtp_client
