#include "daemons/smtp-client/probe/delivery_probe.h"
#include "daemons/smtp-client/probe/socket_permissions.h"
#include "libsmtp/text/text.h"
#include <algorithm>
#include <fmt/format.h>
#include <string_view>
#include <utility>

namespace smtp_client {

using common::Loop;
using namespace proto::delivery;

namespace {

constexpr std::size_t max_lines = 100; // of one reply

Finding finding_of(int code) {
    return code >= 500 ? Finding::permanent : code >= 400 ? Finding::temporary : Finding::good;
}
Finding finding_of(const smtp::Verdict& verdict) {
    switch (verdict.outcome) {
    case smtp::Outcome::delivered: return Finding::good;
    case smtp::Outcome::deferred: return Finding::temporary;
    case smtp::Outcome::failed: return Finding::permanent;
    }
    return Finding::temporary;
}

Step step_of(smtp::Stage stage) {
    switch (stage) {
    case smtp::Stage::lookup: return Step::addresses;
    case smtp::Stage::banner: return Step::greeting;
    case smtp::Stage::ehlo: return Step::ehlo;
    case smtp::Stage::tls: return Step::tls;
    case smtp::Stage::auth: return Step::auth;
    case smtp::Stage::mail: return Step::mail;
    case smtp::Stage::rcpt: return Step::rcpt;
    default: return Step::connect;
    }
}

// EHLO's lines in one: "mx.example.org: PIPELINING, SIZE 1000, STARTTLS".
std::string joined(std::string_view text) {
    std::string out;
    for (std::size_t line = 0; !text.empty(); ++line) {
        const auto one = text.substr(0, text.find('\n'));
        out.append(line == 0 ? "" : line == 1 ? ": " : ", ").append(one);
        text.remove_prefix(std::min(one.size() + 1, text.size()));
    }
    return smtp::printable(out, 1000);
}

std::string_view word_of(decide::TlsLevel level) {
    constexpr std::string_view words[] = {"may", "none", "may", "dane", "sts", "encrypt", "verify", "dane-only"};
    return words[static_cast<std::size_t>(level)];
}

// What the host's TLSA records are; `findings`: nothing, as its name may be forged, or it has none.
std::string text_of(const std::optional<decide::DaneResult>& findings, std::string_view host, bool named) {
    using State = decide::DaneResult::State;
    if (!named) return fmt::format("{} is an address: only host names have TLSA records", host);
    if (!findings)
        return fmt::format("insecure: the MX records that name {} are not secured by DNSSEC, so its TLSA "
                           "records are not looked up",
                           host);
    switch (findings->state) {
    case State::absent:
        return findings->answered
                   ? fmt::format("none: {} has no TLSA records secured by DNSSEC", host)
                   : fmt::format("insecure: {} is not secured by DNSSEC, so its TLSA records are not looked up", host);
    case State::usable:
    case State::unusable: {
        constexpr std::size_t told = 3;
        const auto& records = findings->records;
        auto out = findings->owner;
        std::string_view before = findings->state == State::usable ? ": " : ": none of them usable: ";
        for (std::size_t n = 0; n < std::min(told, records.size()); ++n)
            out += std::exchange(before, ", "), out += records[n].to_string().substr(0, 70);
        return records.size() > told ? fmt::format("{} and {} more", out, records.size() - told) : out;
    }
    case State::unavailable:
        return fmt::format("unavailable: the records of {} could not be looked up: {}", findings->owner, findings->why);
    }
    return {};
}

std::string text_of(const proto::route::StsPolicy& policy, std::string_view domain, std::string_view host,
                    bool admitted) {
    using decide::sts::Mode;
    if (policy.domain.empty()) return fmt::format("none: {} has no known policy", domain);
    auto out = fmt::format("policy {} of {}, mode {}", policy.id, policy.domain, name_of(policy.mode));
    if (policy.mode == Mode::none) return out;
    return fmt::format("{}: {} is {} of its hosts", out, host, admitted ? "one" : "none");
}

} // namespace

DeliveryProbe::DeliveryProbe(ClientContext& context, Probe order, Callbacks callbacks)
    : context_(context), order_(std::move(order)), callbacks_(std::move(callbacks)), began_(Loop::now().monotonic),
      next_(context.loop, [this] { next_round(); }) {
    tried_.attempt = order_.attempt;
    tried_.outcome = Outcome::delivered;
    auto& connect = order_.connect;
    if (order_.every_host) {
        std::ranges::stable_sort(connect.hosts, {}, [](const auto& host) { return host.rank().order(); });
        for (const auto& host : connect.hosts) rounds_.emplace_back(connect).hosts = {host};
    } else {
        rounds_.push_back(connect);
    }
    next_.schedule();
}

void DeliveryProbe::next_round() {
    connection_.reset();
    report_held();
    if (rounds_.empty()) return callbacks_.over(tried_);
    outcome_reported_ = mail_refused_ = false;
    connection_ = std::make_unique<Connection>(context_, static_cast<Connection::Owner&>(*this),
                                               std::move(rounds_.front()), static_cast<SessionObserver*>(this));
    rounds_.pop_front();
    smtp::Transaction transaction;
    transaction.probe = true;
    transaction.reverse_path = order_.reverse_path;
    for (const auto& address : order_.recipients) transaction.recipients.push_back({address, {}});
    connection_->probe(std::move(transaction), order_.secure, order_.sts);
    connection_->close();
}

// --- callbacks from the connection ---

void DeliveryProbe::may_connect(Connection& connection, const std::string&, bool) {
    connection.permit(Connection::Permit::yes);
}

void DeliveryProbe::released(Connection&, const std::string&) {}

void DeliveryProbe::connected(Connection&) {}

void DeliveryProbe::done(Connection&, Done, std::optional<spool::MessageReader>) {} // there is no message

void DeliveryProbe::closed(Connection&, Closed closed) {
    if (closed.reason.text.empty()) closed.reason.text = "the server closed the connection early";
    if (!outcome_reported_)
        record_outcome(Outcome::deferred, closed.reason, closed.host.empty() ? failed_at_ : closed.host);
    next_.schedule();
}

void DeliveryProbe::record_outcome(Outcome outcome, const smtp::RemoteReply& reason, const std::string& host) {
    if (outcome <= tried_.outcome) return;
    tried_.outcome = outcome;
    tried_.reason = reason;
    tried_.host = host;
}

// --- steps ---

ProbeStep DeliveryProbe::step(Step what, const std::string& host) const {
    ProbeStep out;
    out.attempt = order_.attempt;
    out.at = (Loop::now().monotonic - began_).count();
    out.step = what;
    out.host = host;
    return out;
}

void DeliveryProbe::report(const ProbeStep& step) {
    report_held();
    callbacks_.step(step);
}

void DeliveryProbe::report_held() {
    if (held_step_) callbacks_.step(*held_step_);
    held_step_.reset();
}

void DeliveryProbe::looked_up(const std::string& host, dns::Type type, const dns::Answer& answer) {
    looked_up_ = host;
    const bool v4 = type == dns::Type::a;
    if (v4 ? !context_.settings.ipv4 : !context_.settings.ipv6) return; // no query was made
    auto out = step(Step::addresses, host);
    const std::string_view name = v4 ? "A" : "AAAA";
    out.reply.stage = Stage::lookup;
    out.reply.text = fmt::format("no {}", name);
    if (answer.said == dns::LookupStatus::records)
        out.reply.text = name;
    else if (answer.said == dns::LookupStatus::failed) {
        out.finding = Finding::notice;
        out.reply.text = fmt::format("{}: the name servers gave no answer: {}", name, answer.why);
    }
    std::string_view before = " ";
    for (const auto& address : answer.addresses)
        out.reply.text += std::exchange(before, ", "), out.reply.text += address.to_string();
    report(out);
}

void DeliveryProbe::connected(const std::string& relay, const std::string& source) {
    mail_refused_ = false;
    account_.clear();
    auto out = step(Step::connect, relay);
    out.reply.text = source.empty() ? "connected" : "connected " + source;
    report(out);
}

void DeliveryProbe::published(const std::string& relay, const Published& found) {
    using State = decide::DaneResult::State;
    const bool only = found.level == decide::TlsLevel::dane_only;
    const auto state = found.records ? found.records->state : State::absent;
    auto records = step(Step::tlsa, relay);
    records.reply.stage = Stage::tls;
    records.reply.text = text_of(found.records, found.host, !common::IpAddress::parse(found.host));
    if (state >= State::unusable || (only && state == State::absent)) records.finding = Finding::notice;
    report(records);
    if (found.level != decide::TlsLevel::sts) return;

    using decide::sts::Mode;
    const bool admitted = decide::sts::admits(found.policy.mx, found.host);
    auto policy = step(Step::sts, relay);
    policy.reply.stage = Stage::tls;
    policy.reply.text = text_of(found.policy, found.domain, found.host, admitted);
    if (found.policy.mode != Mode::none && !admitted) policy.finding = Finding::notice;
    if (state != State::absent && state != State::unusable) policy.reply.text += "; the TLSA records take precedence";
    report(policy);
}

void DeliveryProbe::sent(const std::string& relay, const smtp::client_event::CommandSent& sent) {
    report_held();
    auto line = step(Step::client, relay);
    line.reply.stage = sent.stage;
    line.reply.text = smtp::printable(sent.text, 1000);
    report(line);
}

void DeliveryProbe::received(const std::string& relay, const smtp::client_event::ReplyReceived& said) {
    std::string wire;
    said.reply.append_to(wire);
    for (std::size_t n = 0; n < max_lines && !wire.empty(); ++n) {
        auto line = step(Step::server, relay);
        line.reply.stage = said.stage;
        line.reply.text = wire.substr(0, wire.find("\r\n"));
        wire.erase(0, line.reply.text.size() + 2);
        line.reply.text = smtp::printable(line.reply.text, 1000);
        report(line);
    }

    const bool challenge = said.stage == Stage::auth && said.reply.code < 400 && said.reply.code >= 300;
    if (said.stage == Stage::none || challenge || (said.stage == Stage::rcpt && mail_refused_)) return;
    const auto& reply = said.reply;
    auto out = step(said.stage == Stage::tls ? Step::starttls : step_of(said.stage), relay);
    out.finding = finding_of(reply.code);
    out.reply.code = static_cast<std::uint16_t>(reply.code);
    out.reply.stage = said.stage;
    if (reply.status.given()) out.reply.status = reply.status.text();
    const bool ehlo = said.stage == Stage::ehlo && reply.positive();
    out.reply.remote_reply = smtp::printable(reply.line(), 1000);
    out.reply.text = ehlo ? joined(reply.text) : out.reply.remote_reply;
    if (said.stage == Stage::auth && !account_.empty())
        out.reply.text = fmt::format("as {}: {}", account_, out.reply.text);
    if (said.stage == Stage::rcpt && said.recipient < order_.recipients.size())
        out.recipient = order_.recipients[said.recipient];
    if (said.stage == Stage::mail) mail_refused_ = !reply.positive();
    if (reply.positive() || said.stage >= Stage::mail) return report(out);
    out.finding = Finding::notice;
    held_step_ = std::move(out);
}

void DeliveryProbe::handshake_done(const std::string& relay, const tls::ConnectionInfo& facts,
                                   const tls::CertificateVerdict& judgement, std::string_view how,
                                   decide::TlsLevel level) {
    auto out = step(Step::tls, relay);
    out.finding = how.empty() ? Finding::notice : Finding::good;
    out.reply.stage = Stage::tls;
    out.reply.text =
        fmt::format("{}; {} (tls = {})", facts.text(),
                    how.empty() ? fmt::format("the certificate does not prove the host's name: {}",
                                              judgement.certificate.empty() ? "there is none" : judgement.problem)
                                : fmt::format("the certificate proves the host's name, {}", how),
                    word_of(level));
    using Own = tls::ConnectionInfo::OwnCertificate;
    if (facts.own == Own::shown) out.reply.text += "; the server requested our certificate and got it";
    if (facts.own == Own::missing)
        out.reply.text += "; the server requested our certificate, and there is none (smtp_client.tls_certificates)";
    report(out);
}

void DeliveryProbe::unreachable(const Candidate& candidate, const smtp::Verdict& why) {
    auto told = why;
    if (candidate.local()) told.text += "; " + describe_socket(candidate.endpoint.path);
    report_failure(candidate.relay(), told);
}

void DeliveryProbe::failed(const std::string& relay, const smtp::Verdict& why) { report_failure(relay, why); }

void DeliveryProbe::report_failure(const std::string& relay, const smtp::Verdict& why) {
    failed_at_ = relay.empty() ? looked_up_ : relay;
    if (why.stage >= Stage::mail && why.code != 0) return; // the reply itself has been reported
    if (held_step_ && why.code != 0) held_step_.reset();   // that was it
    auto out = step(step_of(why.stage), failed_at_);
    // What a server says about itself is no verdict on the mail: that waits.
    out.finding = std::min(finding_of(why), why.stage < Stage::mail && why.stage != Stage::lookup ? Finding::temporary
                                                                                                  : Finding::permanent);
    out.reply = why;
    if (why.stage == Stage::auth && why.code != 0 && !account_.empty())
        out.reply.text = fmt::format("as {}: {}", account_, out.reply.text);
    report(out);
}

void DeliveryProbe::probed(const std::string& relay, const smtp::TransactionResult& result) {
    outcome_reported_ = true;
    for (std::size_t i = 0; i < result.of_recipient.size(); ++i) {
        const auto& verdict = result.verdicts[result.of_recipient[i]];
        record_outcome(verdict.outcome, verdict, relay);
        const bool changed_by_rules = verdict.code != 0 && finding_of(verdict) != finding_of(verdict.code);
        // What this side refused, or interprets differently, has not been reported yet; lost connections have.
        const bool ours = verdict.code == 0 && verdict.outcome == smtp::Outcome::failed;
        if (!ours && !changed_by_rules) continue;
        auto out = step(step_of(verdict.stage), relay);
        out.finding = finding_of(verdict);
        out.recipient = order_.recipients[i];
        out.reply = verdict;
        if (changed_by_rules) out.reply.text += fmt::format(" (according to the rule \"{}\")", verdict.rule);
        report(out);
    }
}

} // namespace smtp_client
