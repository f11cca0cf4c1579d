#include "daemons/smtp-client/session/host_search.h"
#include "daemons/common/config/local_listener.h"
#include "daemons/decide/outcome/failure.h"
#include "daemons/smtp-client/session/hand_over.h"
#include "daemons/smtp-client/session/tls_needs.h"
#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <utility>

namespace smtp_client {

using common::Loop;
using For = HostSearch::Owner::For;

HostSearch::HostSearch(ClientContext& context, Owner& owner, const proto::delivery::Connect& order,
                       SourceAddresses& sources, AttemptFailures& failures, SessionObserver* observer)
    : context_(context), owner_(owner), order_(order), sources_(sources), failures_(failures), observer_(observer),
      connector_(context, *this, order.hosts, &sources) {}

void HostSearch::request_permission(const std::string& address, ConnectMode mode) {
    clock_.enter(&proto::delivery::SetupTimes::connect, Loop::now().monotonic);
    owner_.may_connect(address, mode);
}

void HostSearch::leave(For next) {
    host_.reset();
    owner_.session_left(next);
}

void HostSearch::begin() {
    if (order_.pool.empty() || sources_.has_pool()) return try_next();
    // The pool does not exist: the mail waits, because it must not come from another address.
    AttemptFailure failed;
    failed.why.stage = smtp::Stage::connect;
    failed.why.status = "4.3.5";
    failed.why.text = fmt::format("there is no pool of source addresses \"{}\": add [pool.{}] to the configuration",
                                  order_.pool, order_.pool);
    log().warning("{}", failed.why.text);
    failures_.no_pool(std::move(failed));
    owner_.no_host_left(End::exhausted);
}

void HostSearch::try_next() {
    leave(For::next_host);
    current_.reset();
    tls_fallback_ = TlsNegotiation::Fallback::none;
    authenticator_.reset();
    sources_.next_server();
    if (auto* first = owner_.first_delivery())
        sources_.prefer(sources_.has_pool() ? first->last_deferral_source(context_) : std::string());
    clock_.enter(&proto::delivery::SetupTimes::dns, Loop::now().monotonic);
    connector_.next();
}

void HostSearch::retry_same() {
    leave(For::same_host);
    connector_.retry_same();
}

void HostSearch::retry_in_plain_text() {
    tls_fallback_ = TlsNegotiation::Fallback::plain_text;
    retry_same();
}

void HostSearch::stop() {
    stopped_ = true;
    connector_.stop();
}

bool HostSearch::lmtp() const {
    const auto protocol = current_               ? current_->host.protocol
                          : order_.hosts.empty() ? smtp::Protocol::smtp
                                                 : order_.hosts.front().protocol;
    return protocol == smtp::Protocol::lmtp;
}

SessionFacts HostSearch::facts(std::uint64_t deliveries, smtp::Duration setup) const {
    return {.log = log(),
            .connection = order_.connection,
            .link = order_.link,
            .lmtp = lmtp(),
            .implicit_tls = current_ && current_->host.tls_wrap,
            .deliveries = deliveries,
            .setup = setup,
            .times = clock_.until(Loop::now().monotonic),
            .relay = relay(),
            .tls = host_ ? host_->tls().description() : "none",
            .source = sources_.current_text()};
}

AttemptFailure HostSearch::failure_at_host(smtp::Verdict why) const {
    const auto& tls = host_->tls();
    why.details = {.timed_out = why.details.timed_out};
    why.details.implicit_tls = current_->host.tls_wrap;
    if (why.stage == smtp::Stage::tls) why.details.demand = tls.demanded_by();
    why.at = relay();
    return {std::move(why), relay(), tls.description(), sources_.current_text()};
}

// --- callbacks from the connector ---

void HostSearch::looked_up(const std::string& host, dns::Type type, const dns::Answer& answer) {
    if (observer_) observer_->looked_up(host, type, answer);
}

void HostSearch::unreachable(const Candidate& candidate, int error) {
    const bool from_nowhere = error == EADDRNOTAVAIL && sources_.has_pool() && !candidate.source && !candidate.local();
    const auto reason = from_nowhere ? sources_.why_no_source_for(candidate.endpoint.address) : std::strerror(error);
    sources_.next_server();
    session_number_ = context_.next_session();
    const auto from = candidate.source ? " from " + candidate.source->address.to_string() : std::string();
    AttemptFailure failed;
    failed.why.stage = smtp::Stage::connect;
    failed.why.status = "4.4.1";
    failed.why.text = fmt::format("connect to {}{}: {}", candidate.relay(), from, reason);
    failed.why.details.error = static_cast<std::uint16_t>(error);
    failed.why.at = candidate.relay();
    log().info("{}", failed.why.text);
    if (observer_) observer_->unreachable(candidate, failed.why);
    failures_.address_unreachable(std::move(failed));
}

void HostSearch::no_address(const std::string& status, const std::string& text) {
    smtp::Verdict why;
    why.stage = smtp::Stage::lookup;
    why.status = decide::status_as(status, decide::Severity::temporary);
    why.text = text;
    if (observer_) observer_->failed("", why);
    using MayExist = AttemptFailures::MayExist;
    failures_.no_address(std::move(why), status.starts_with('5') ? MayExist::no : MayExist::yes);
}

void HostSearch::out_of_addresses(End end) { owner_.no_host_left(end); }

void HostSearch::reached(const Candidate& candidate, std::unique_ptr<TlsStream> stream) {
    clock_.enter(&proto::delivery::SetupTimes::session, Loop::now().monotonic);
    current_ = candidate;
    sources_.reached(candidate.source);
    session_number_ = context_.next_session();
    if (observer_) observer_->connected(relay(), sources_.description());
    if (!observer_ && loops_back(stream->local_address())) { // an operator's probe may connect to this system, too
        stream.reset();
        return try_next();
    }
    failures_.address_reached();
    auto* first = owner_.first_delivery();
    TlsPeer peer{current_->name(), current_->peer(), current_->host.tls_wrap, order_.mx};
    TlsNegotiation tls(std::move(peer), first ? first->needs(context_, reach_of(*current_)) : needs_of_link(),
                       tls_fallback_);
    host_ = std::make_unique<HostSession>(context_, clock_, observer_, *current_, std::move(stream), sources_.current(),
                                          std::move(tls), log());
    determine_tls_demand();
}

TlsNeeds HostSearch::needs_of_link() const {
    auto needs = tls_needs_of_route(context_, order_.rule);
    if (current_->local()) needs.level = decide::TlsLevel::none;
    return needs;
}

// Only now it is known to which address a name has led. Mail sent there would come back until its hops are too many.
bool HostSearch::loops_back(const std::string& local_address) {
    const auto& address = current_->endpoint.address;
    if (current_->local() || (!address.is_loopback() && local_address != address.to_string())) return false;
    const auto* listener = config::local_listener(context_.listeners, current_->endpoint);
    if (!listener) return false;
    AttemptFailure failed{.why = {}, .host = relay(), .tls = "none"};
    failed.why.stage = smtp::Stage::connect;
    failed.why.status = "4.4.6";
    failed.why.text =
        fmt::format("mail loops back to myself: {} is a listener of this system (listen.{})", relay(), listener->name);
    log().warning("{}", failed.why.text);
    failures_.loop_found(std::move(failed));
    return true;
}

// --- before the conversation ---

// What must the host show for the delivery that is to go first? This may require a lookup of its records.
void HostSearch::determine_tls_demand() {
    const auto* first = owner_.first_delivery();
    const auto& tls = host_->tls();
    if (!asks_dane(tls.needs().level) || !tls.dane_applies(first ? first->order().secure : !order_.mx))
        return tls_demand_known();
    host_->look_up_records([this] {
        if (!stopped_) tls_demand_known();
    });
}

void HostSearch::tls_demand_known() {
    auto& tls = host_->tls();
    const auto* first = owner_.first_delivery();
    const auto* policy = first ? &first->order().sts : nullptr;
    const auto decision = tls.decide(policy);
    const auto& needs = tls.needs();
    if (observer_ && asks_dane(needs.level) && policy)
        observer_->published(relay(), {needs.level, needs.domain, current_->name(), tls.records(), *policy});
    if (policy && decision.result != decide::TlsResult::success)
        host_->report_tls_result(decision.result, decision.refusal, *policy);
    if (decision.refusal.empty())
        begin_session();
    else
        refused_by_policy(decision.refusal);
}

// A failure of this host alone, which must not be used: its link works, unless this is its only host.
void HostSearch::refused_by_policy(const std::string& text) {
    smtp::Verdict why;
    why.stage = smtp::Stage::tls;
    why.status = "4.7.5";
    why.text = text;
    auto failed = failure_at_host(std::move(why));
    failed.source.clear();
    failures_.host_failed(std::move(failed));
    if (!tls_failure_is_of_link()) failures_.last_was_for_policy();
    log().info("{}", text);
    if (observer_) observer_->failed(relay(), failures_.last().why);
    try_next();
}

void HostSearch::begin_session() {
    if (!authenticator_) // else it was made for this address, and another try
        authenticator_ = Authenticator::for_host(context_.auth, order_.rule, current_->host.account, current_->name(),
                                                 current_->host.port, [this] { owner_.wake(); });
    host_->greet(authenticator_.get());
    owner_.session_begun();
}

void HostSearch::readable() {
    if (host_ && !host_->greeted() && !stopped_) return read_early();
    owner_.readable();
}

void HostSearch::read_early() {
    const int error = host_->read_early();
    if (error == 0) return;
    context_.peer_history.record_failure(current_->endpoint.address, Loop::now().monotonic);
    unreachable(*current_, error);
    try_next();
}

} // namespace smtp_client
