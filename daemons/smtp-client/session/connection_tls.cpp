// The part of a Connection that is about TLS: how much of it mail needs, the handshake, and what follows when
// it cannot be had.
#include "daemons/common/text/idn.h"
#include "daemons/smtp-client/session/connection.h"
#include <algorithm>
#include <fmt/format.h>
#include <ranges>

namespace smtp_client {

using common::Loop;
using decide::TlsDemand;
using decide::TlsLevel;

namespace {
std::string domain_of(std::string_view address) {
    return idn::ascii_domain(address.substr(address.rfind('@') + 1));
}
} // namespace

// Of a link that is tried without mail: what the route it serves demands.
TlsLevel Connection::level_of_link() const {
    const auto otherwise = context_.settings.tls;
    return context_.tls_routes ? context_.tls_routes->tls_level_of(order_.rule, otherwise) : otherwise;
}

// Is missing TLS a failure of the link? Yes for a host that the configuration names, if its route demands TLS: the route may
// have a next host. No for a domain's MX hosts, and no for what a message itself requires.
bool Connection::is_failure_of_link() const { return !order_.mx && !needs_.by_message; }

TlsLevel Connection::level_of(std::string_view domain) const {
    const auto otherwise = context_.settings.tls;
    return context_.tls_routes ? context_.tls_routes->tls_level(domain, otherwise) : otherwise;
}

Connection::Needs Connection::needs_of(Job& job) {
    if (job.needs) return *job.needs;
    const auto& order = job.order;
    if (job.probe) {
        job.needs = Needs{context_.settings.tls, ""};
        std::optional<TlsLevel> strictest;
        for (const auto& recipient : job.probe->recipients) {
            job.needs->domain = domain_of(recipient.address);
            strictest = std::max(strictest.value_or(TlsLevel::none), level_of(job.needs->domain));
        }
        job.needs->level = strictest.value_or(job.needs->level);
        return *job.needs;
    }
    if (job.message) {
        job.needs = needs_of(*job.message, order.recipients);
    } else { // it is looked into only: who waits for a server needs no descriptor
        const auto message = context_.messages.open(order.queue_id, order.location);
        if (!message) return {context_.settings.tls, ""}; // why, is found again when it is handed over
        job.needs = needs_of(*message, order.recipients);
    }
    return *job.needs;
}

// Towards the current host.
Connection::Needs Connection::needs_at_current_host(Job& job) {
    auto needs = needs_of(job);
    if (current_->local()) needs.level = TlsLevel::none; // nobody listens in between
    return needs;
}

// The recipients are of one domain, unless an operator rerouted the message: then the strictest counts.
Connection::Needs Connection::needs_of(const spool::MessageReader& message, const std::vector<std::uint32_t>& numbers) {
    const auto& recipients = message.state().recipients;
    const auto otherwise = context_.settings.tls;
    std::optional<TlsLevel> strictest;
    Needs needs{otherwise, ""};
    for (const auto number : numbers) {
        if (number >= recipients.size()) continue;
        const auto domain = domain_of(recipients[number].address);
        const auto level = level_of(domain);
        if (!strictest) {
            needs.domain = domain;
            const auto& reporter = context_.tls_reports_from;
            needs.of_report = !reporter.empty() && message.state().reverse_path_of(recipients[number]) == reporter;
        }
        strictest = std::max(strictest.value_or(level), level);
        if (!context_.tls_routes) break;
    }
    const auto& envelope = message.envelope();
    const auto wish = envelope.require_tls    ? decide::TlsRequirement::required
                      : envelope.tls_optional ? decide::TlsRequirement::optional
                                              : decide::TlsRequirement::none;
    needs.level = level_for(wish, strictest.value_or(otherwise));
    needs.by_message = needs.level > strictest.value_or(otherwise);
    return needs;
}

// Nobody can have put the current host in the place of another one, and it has a name that may have records.
bool Connection::dane_applies(const Job& job) const {
    return job.order.secure && !common::IpAddress::parse(current_->name());
}

decide::StsMatch Connection::sts_word(const Job& job) const {
    const auto& policy = job.order.sts;
    if (policy.mode != decide::sts::Mode::enforce) return decide::StsMatch::nothing;
    return decide::sts::admits(policy.mx, current_->name()) ? decide::StsMatch::usable : decide::StsMatch::other;
}

std::string Connection::not_in_policy_text(const proto::route::StsPolicy& policy) const {
    return fmt::format("host {} is not listed in the MTA-STS policy of {} (id {})", current_->peer(), policy.domain,
                       policy.id);
}

// Before a host is spoken to: what must it show for the delivery that is to go first?
void Connection::determine_tls_demand() {
    findings_.reset();
    needs_ = jobs_.empty() ? Needs{current_->local() ? TlsLevel::none : level_of_link(), ""}
                           : needs_at_current_host(*jobs_.front());
    const bool applies =
        jobs_.empty() ? !order_.mx && !common::IpAddress::parse(current_->name()) : dane_applies(*jobs_.front());
    if (!asks_dane(needs_.level) || !applies) return tls_demand_known();
    dane_lookup_.emplace(context_.resolver, current_->name(), current_->endpoint.port, true,
                         [this](const decide::DaneResult& findings) {
                             findings_ = findings;
                             if (!over_) tls_demand_known();
                         });
    dane_lookup_->start();
}

void Connection::tls_demand_known() {
    const auto word = jobs_.empty() ? decide::StsMatch::nothing : sts_word(*jobs_.front());
    auto decision =
        decide_tls(needs_.level, findings_.value_or(decide::DaneResult{}), word, current_->name());
    demand_ = decision.demand;
    using Demand = smtp::FailureDetails::Demand;
    demanded_by_ = demand_ == TlsDemand::records                                      ? Demand::records
                   : demand_ == TlsDemand::authority && needs_.level == TlsLevel::sts ? Demand::policy
                                                                                      : Demand::level;
    if (observer_ && asks_dane(needs_.level) && !jobs_.empty())
        observer_->published(relay(), {needs_.level, needs_.domain, current_->name(), findings_, jobs_.front()->order.sts});
    if (decision.result == decide::TlsResult::validation_failure)
        decision.refusal = not_in_policy_text(jobs_.front()->order.sts);
    if (decision.result != decide::TlsResult::success) report_tls_result(decision.result, decision.refusal);
    if (decision.refusal.empty())
        greet();
    else
        refused_by_policy(decision.refusal);
}

// May this delivery, too, go over the session that is up?
bool Connection::meets_needs(Job& job) {
    const auto [level, domain, of_report, by_message] = needs_at_current_host(job);
    const bool dane = asks_dane(level) && dane_applies(job);
    if (dane && !findings_) return false; // nobody has asked about the host
    const auto decision =
        decide_tls(level, dane ? *findings_ : decide::DaneResult{}, sts_word(job), current_->name());
    return decision.refusal.empty() && satisfies(tls_, decision.demand, domain);
}

// Why the current host gets no message that requires TLS all the way (RFC 8689, 4.2.1): "neither … vouches for host
// mx.example.org[192.0.2.1]"; "" it gets it, or the message requires nothing.
std::string Connection::missing_requirement(Job& job) {
    if (!job.message->envelope().require_tls || current_->local()) return "";
    const auto host = current_->peer();
    const auto& policy = job.order.sts;
    const bool named = policy.mode != decide::sts::Mode::none && decide::sts::admits(policy.mx, current_->name());
    const bool proven = satisfies(tls_, TlsDemand::authority, needs_at_current_host(job).domain) ||
                        satisfies(tls_, TlsDemand::records, needs_at_current_host(job).domain);
    const auto what = !tls_.encrypted ? fmt::format("host {} was reached without TLS", host)
                      : !proven       ? fmt::format("host {} has no certificate that proves its name", host)
                      : !session_->extensions().require_tls ? fmt::format("host {} does not offer REQUIRETLS", host)
                      : order_.mx && !job.order.secure && !named
                          ? fmt::format("host {} is secured neither by DNSSEC nor by an MTA-STS policy", host)
                          : std::string();
    return what.empty() ? what : fmt::format("message requires TLS on the whole path (REQUIRETLS), and {}", what);
}

// The next one may do what this one does not.
void Connection::try_another_host(const Job& job, std::string text) {
    auto& why = (last_failure_ = {{}, relay(), tls_description(), source()}).why;
    why.outcome = smtp::Outcome::failed;
    why.status = "5.7.30";
    why.text = std::move(text);
    requirement_failure_ = last_failure_;
    requirement_delivery_ = job.order.delivery;
    log_context().info("{}: {}", job.order.queue_id.text(), why.text);
    session_->quit(Loop::now().monotonic);
    flush_last_output();
    store_resumption();
    try_next();
}

smtp::ClientSession::StartTls Connection::starttls_mode() {
    using StartTls = smtp::ClientSession::StartTls;
    tls_ = {};
    tls_text_.clear();
    tls_result_ = decide::TlsResult::starttls_not_supported;
    handshaking_ = false;
    if (current_->host.tls_wrap) return StartTls::wrapped;
    if (is_mandatory(demand_)) return StartTls::always;
    return demand_ == TlsDemand::plain || plain_text_ || !context_.tls ? StartTls::never : StartTls::if_offered;
}

tls::ServerIdentity Connection::identity() const {
    if (demand_ != TlsDemand::records) return {current_->name()};
    tls::ServerIdentity out{findings_->base, findings_->records};
    // Also the names that led there (RFC 7672, 3.2.2).
    if (current_->name() != out.host) out.other_names.push_back(current_->name());
    if (order_.mx && !needs_.domain.empty()) out.other_names.push_back(needs_.domain);
    return out;
}

// A session may only be resumed by who would have agreed on it: same address, same demands and expectations.
std::string Connection::resumption_name() const {
    return fmt::format("{} {} {} {}", relay(), static_cast<int>(demand_), identity().fingerprint(), source());
}

void Connection::start_tls() {
    // Whoever looks on wants to see the whole of it.
    const auto from = observer_ ? tls::ResumableSession() : context_.resumptions.take(resumption_name());
    auto session = context_.tls ? tls::Session::connect(context_.tls, identity(), from.get()) : nullptr;
    tls_result_ = decide::TlsResult::validation_failure;
    if (!session)
        return session_->tls_failed("TLS cannot be started on this system", Loop::now().monotonic);
    stream_->start_tls(std::move(session));
    handshaking_ = true;
    continue_handshake();
}

void Connection::continue_handshake() {
    const auto outcome = stream_->continue_handshake();
    if (outcome == TlsStream::Handshake::under_way) return;
    handshaking_ = false;
    if (outcome == TlsStream::Handshake::failed)
        return session_->tls_failed(
            fmt::format("TLS handshake with {} failed: {}", current_->peer(), stream_->handshake_error()),
            Loop::now().monotonic);
    judge_certificate();
}

void Connection::judge_certificate() {
    using Proof = decide::TlsState::Proof;
    const auto facts = stream_->tls()->info();
    const auto judgement = stream_->tls()->verdict();
    tls_ = {true, judgement.proof, ""};
    if (tls_.verified() && !judgement.of_host) tls_.only_for = needs_.domain;
    const auto how = tls_.proof == Proof::records ? "by DANE" : tls_.proof == Proof::authority ? "by authority" : "";
    tls_text_ = facts.version + " " + facts.cipher + (tls_.verified() ? fmt::format(", verified {}", how) : "");
    log_context().info("{} TLS connection established to {}: {}{}{}",
                 tls_.verified()                 ? "Verified"
                 : judgement.certificate.empty() ? "Anonymous"
                                                 : "Untrusted",
                 relay(), facts.text(), tls_.verified() ? ", " : "", how);
    if (context_.metrics) context_.metrics->count(common::MetricId::client_tls_sessions, common::tls_used(facts.version));
    if (observer_) observer_->handshake_done(relay(), facts, judgement, how, needs_.level);
    certificate_ = judgement.result;
    certificate_problem_ = judgement.certificate.empty() ? "there is none" : judgement.problem;
    const auto now = Loop::now().monotonic;
    if (!satisfies(tls_, demand_, needs_.domain)) {
        tls_result_ = judgement.result;
        return session_->tls_failed(certificate_mismatch_text(judgement), now);
    }
    using Session = smtp::ClientSession;
    session_->tls_up(tls_.verified() ? Session::Peer::verified : Session::Peer::unverified, now);
}

std::string Connection::certificate_mismatch_text(const tls::CertificateVerdict& judgement) const {
    const std::string problem = judgement.certificate.empty() ? "there is none" : judgement.problem;
    if (demand_ != TlsDemand::records)
        return fmt::format("the certificate of {} does not prove that it is {}: {}", current_->peer(),
                           current_->name(), problem);
    constexpr std::size_t told = 2;
    std::string records;
    for (const auto& record : findings_->records | std::views::take(told))
        records += (records.empty() ? "" : ", ") + record.to_string().substr(0, 70);
    if (findings_->records.size() > told)
        records += fmt::format(" and {} more", findings_->records.size() - told);
    return fmt::format("the certificate of {} ({}) does not match the TLSA records of {} ({}): {}",
                       current_->peer(), judgement.certificate, findings_->owner, records, problem);
}

// Of a session that served: one whose certificate was refused would bring that verdict back with it. Nor from
// before a reload, which may have changed whom we trust.
void Connection::store_resumption() {
    if (up_ && stream_->tls() && stream_->tls()->is_of(context_.tls.get()))
        context_.resumptions.store(resumption_name(), stream_->tls()->resumable_session());
}

// Where TLS is only welcome, a server that offers it and cannot do it gets its mail without: once more to the
// same address.
bool Connection::retry_in_plain_text(const smtp::Verdict& why) {
    if (why.stage != smtp::Stage::tls || demand_ != TlsDemand::welcome || plain_text_ || current_->host.tls_wrap)
        return false;
    log_context().info("{}; trying again in plain text", why.text);
    plain_text_ = true;
    retry_same_address();
    return true;
}

} // namespace smtp_client
