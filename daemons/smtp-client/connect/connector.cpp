#include "daemons/smtp-client/connect/connector.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fmt/format.h>

namespace smtp_client {

using common::IpAddress;
using common::Loop;
using namespace std::chrono_literals;
using End = Connector::Owner::End;

namespace {
bool is_path(const std::string& name) { return name.starts_with('/'); } // of a UNIX socket; its address is "::"
} // namespace

Connector::Connector(ClientContext& context, Owner& owner, const std::vector<proto::route::Host>& hosts,
                     SourceAddresses* sources)
    : context_(context), owner_(owner), sources_(sources), resolver_(context.resolver),
      deadline_(context.deadlines, [this] { on_deadline(); }), addresses_left_(context.settings.addresses_per_attempt) {
    std::vector<decide::Rank> ranks;
    for (const auto& host : hosts) ranks.push_back(host.rank());
    const auto chance = [&](std::uint32_t most) {
        return std::uniform_int_distribution<std::uint32_t>(0, most)(context_.random);
    };
    for (const auto place : decide::host_order(ranks, chance)) hosts_.push_back(hosts[place]);
}

void Connector::next() {
    if (over_) return;
    if (std::exchange(reached_, false)) owner_.released(current_->endpoint.to_string());
    no_parallel_room_ = false;
    if (race_) race_->failed();
    advance();
}

void Connector::retry_same() {
    reached_ = false;
    retrying_ = true;
    start_attempt(*current_);
    advance();
}

void Connector::stop() {
    over_ = true;
    deadline_.clear();
    a_lookup_.cancel();
    aaaa_lookup_.cancel();
    attempts_.clear();
}

void Connector::finish(End end) {
    stop();
    owner_.out_of_addresses(end);
}

void Connector::skip_fallback() {
    std::erase_if(hosts_, [](auto& host) { return host.tier == decide::Tier::fallback; });
    if (host_ && host_->tier == decide::Tier::fallback) addresses_left_ = 0;
}

bool Connector::may_start_attempt() const {
    const bool starved = std::ranges::any_of(attempts_, [](auto& each) { return !each->stream; });
    return !over_ && !reached_ && !pending_request_ && !retrying_ && !starved &&
           (!no_parallel_room_ || attempts_.empty());
}

// Tries what can be tried now. Called whenever something has changed.
void Connector::advance() {
    while (may_start_attempt()) {
        if (addresses_left_ == 0 && attempts_.empty()) end_tier();
        const bool finished = !race_ || race_->exhausted() || reserved_for_other_hosts();
        if (finished && attempts_.empty()) {
            if (!next_host()) return;
            continue;
        }
        const auto address = addresses_left_ > 0 && !finished ? race_->next(Loop::now().monotonic) : std::nullopt;
        if (!address) break;
        --addresses_left_;
        const auto how = attempts_.empty() ? Owner::ConnectMode::sequential : Owner::ConnectMode::parallel;
        pending_request_ = PermissionRequest{{*host_, {*address, host_->port}}, how};
        if (is_path(host_->name)) pending_request_->candidate.endpoint.path = host_->name;
        owner_.request_permission(pending_request_->candidate.endpoint.to_string(), how);
    }
    rearm();
}

// The hosts of this tier that have not been examined yet. Postponed hosts come after them.
std::size_t Connector::untried_hosts() const {
    return static_cast<std::size_t>(std::ranges::count(hosts_, host_->tier, &proto::route::Host::tier)) - postponed_;
}

// An attempt ends after a limited number of addresses. The last of them is reserved for another host, if there is
// one; and if there are more hosts than addresses, hosts with nothing but addresses that failed lately come after the
// others. Otherwise one dead host, or a few, would keep mail from the working ones forever.
bool Connector::reserved_for_other_hosts() const {
    if (!race_ || addresses_left_ == 0) return false;
    const auto others = untried_hosts();
    return tried_ > 0 ? addresses_left_ == 1 && others > 0 : others >= addresses_left_ && race_->only_failed_lately();
}

void Connector::postpone_host() {
    const auto tier = host_->tier;
    const auto end = std::ranges::find_if(hosts_, [&](auto& host) { return host.tier != tier; });
    hosts_.insert(end, *host_);
    ++postponed_;
}

// The attempt has used up its addresses: what is left are the fallback hosts, with the same number of their own.
void Connector::end_tier() {
    const bool last = host_ && host_->tier == decide::Tier::fallback;
    std::erase_if(hosts_, [&](auto& host) { return last || host.tier != decide::Tier::fallback; });
    race_.reset();
    postponed_ = 0;
}

// False: there is none, and the owner has been notified.
bool Connector::next_host() {
    if (tried_ == 0 && reserved_for_other_hosts()) postpone_host();
    race_.reset();
    tried_ = 0;
    a_lookup_.cancel();
    aaaa_lookup_.cancel();
    const auto before = host_ ? host_->tier : decide::Tier::first;
    // Hosts of a worse preference are for when the better ones fail, not for when we ourselves fill those.
    if (best_at_limit_ && (hosts_.empty() || hosts_.front().rank().order() > *best_at_limit_)) {
        finish(End::at_limit);
        return false;
    }
    if (hosts_.empty()) {
        finish(End::exhausted);
        return false;
    }
    host_ = std::move(hosts_.front());
    hosts_.pop_front();
    const auto behind = static_cast<std::size_t>(std::ranges::count(hosts_, host_->tier, &proto::route::Host::tier));
    postponed_ = std::min(postponed_, behind);
    if (host_->tier == decide::Tier::fallback && before != decide::Tier::fallback)
        addresses_left_ = context_.settings.addresses_per_attempt;
    race_.emplace(HappyEyeballs::Delays{.attempt = context_.settings.connection_attempt_delay});
    const auto literal = is_path(host_->name) ? std::optional(IpAddress{}) : IpAddress::parse(host_->name);
    if (literal) {
        race_->add_answer(HappyEyeballs::Family::v6, sorted({*literal}), {});
        race_->add_answer(HappyEyeballs::Family::v4, {}, {});
    } else {
        look_up();
    }
    return true;
}

void Connector::look_up() {
    a_.reset();
    aaaa_.reset();
    look_up_type(dns::Type::aaaa, uses_v6(), aaaa_lookup_, aaaa_);
    look_up_type(dns::Type::a, uses_v4(), a_lookup_, a_);
}

void Connector::look_up_type(dns::Type type, bool wanted, dns::Lookup& lookup, std::optional<dns::Answer>& answer) {
    if (!wanted) {
        answer.emplace().said = decide::LookupStatus::no_data;
        answered(type);
    } else if (const auto* known = resolver_->cached(host_->name, type)) {
        answer = *known;
        answered(type);
    } else {
        lookup = resolver_->look_up(host_->name, type, [this, type, &answer](const dns::Answer& said) {
            answer = said;
            answered(type);
            advance();
        });
    }
}

HappyEyeballs::Addresses Connector::sorted(const std::vector<IpAddress>& list) const {
    const auto now = Loop::now().monotonic;
    HappyEyeballs::Addresses out;
    for (const auto& address : list)
        (context_.peer_history.failed_lately(address, now) ? out.failed_lately : out.good).push_back(address);
    return out;
}

void Connector::answered(dns::Type type) {
    const auto& answer = type == dns::Type::a ? *a_ : *aaaa_;
    owner_.looked_up(host_->name, type, answer);
    auto list = answer.addresses;
    std::ranges::shuffle(list, context_.random);
    race_->add_answer(type == dns::Type::a ? HappyEyeballs::Family::v4 : HappyEyeballs::Family::v6, sorted(list),
                      Loop::now().monotonic);
    if (!a_ || !aaaa_ || !a_->addresses.empty() || !aaaa_->addresses.empty()) return;

    using decide::LookupStatus;
    const bool failed = a_->said == LookupStatus::failed || aaaa_->said == LookupStatus::failed;
    const bool no_name = a_->said == LookupStatus::no_name || aaaa_->said == LookupStatus::no_name;
    const bool both = uses_v4() && uses_v6();
    owner_.no_address(failed ? "4.4.3"
                      : both ? "5.4.4"
                             : "4.4.4",
                      fmt::format("Host or domain name not found. Name service error for name={} type={}: {}",
                                  host_->name, uses_v4() ? "A" : "AAAA",
                                  failed    ? fmt::format("Host not found, try again ({})",
                                                       a_->said == LookupStatus::failed ? a_->why : aaaa_->why)
                                  : no_name ? std::string("Host not found")
                                            : std::string("Host found but no data record of requested type")));
}

void Connector::permit(bool granted) {
    if (over_ || !pending_request_) return;
    auto [candidate, how] = *std::exchange(pending_request_, std::nullopt);
    if (reached_ ||
        (!granted && how == Owner::ConnectMode::parallel)) { // lost before it began, or waits for the others
        if (granted) owner_.released(candidate.endpoint.to_string());
        race_->put_back(candidate.endpoint.address);
        ++addresses_left_;
        no_parallel_room_ = !granted;
        return advance();
    }
    if (!granted) {
        const auto order = candidate.host.rank().order();
        best_at_limit_ = std::min(best_at_limit_.value_or(order), order);
        race_->failed();
        return advance();
    }
    start_attempt(std::move(candidate));
    advance();
}

void Connector::start_attempt(Candidate candidate) {
    ++tried_;
    attempts_.push_back(std::make_unique<Attempt>(Attempt{std::move(candidate)}));
    open(*attempts_.back());
}

// Where the candidate really is: a test may have moved it.
common::Endpoint Connector::actual_endpoint(const Candidate& candidate) const {
    for (const auto& moved : context_.connect_to)
        if (moved.port == candidate.endpoint.port &&
            (moved.host == candidate.name() || moved.host == candidate.endpoint.address.to_string()))
            return moved.to;
    return candidate.endpoint;
}

void Connector::open(Attempt& attempt) {
    const auto to = actual_endpoint(attempt.candidate);
    const bool from_pool = sources_ && sources_->has_pool() && to.path.empty(); // a UNIX socket is reached from nowhere
    const auto* source = attempt.candidate.source = from_pool ? sources_->source_for(to.address) : nullptr;
    if (!source && from_pool) return drop_attempt(attempt, EADDRNOTAVAIL); // the server is not to blame
    auto stream = TlsStream::connect(context_.loop, to, source ? &source->address : nullptr,
                                     {[this, &attempt](int error) { connected(attempt, error); },
                                      [this] { owner_.readable(); }, [this] { owner_.writable(); }});
    if (!stream && stream.error().cause == ConnectError::Cause::source_unavailable) {
        sources_->mark_unusable(*source);
        return open(attempt); // from another
    }
    const auto now = Loop::now().monotonic;
    if (!stream && spool::is_resource_exhaustion(stream.error().error)) {
        context_.log_shortage(stream.error().error);
        attempt.until = now + 1s; // as often as it takes
        return;
    }
    if (!stream) return failed(attempt, stream.error().error.code);
    attempt.stream = *std::move(stream);
    attempt.until = now + context_.settings.connect_timeout;
}

void Connector::failed(Attempt& attempt, int error) {
    context_.peer_history.record_failure(attempt.candidate.endpoint.address, Loop::now().monotonic);
    drop_attempt(attempt, error);
}

void Connector::drop_attempt(Attempt& attempt, int error) {
    const auto candidate = std::move(attempt.candidate);
    std::erase_if(attempts_, [&](auto& each) { return each.get() == &attempt; });
    retrying_ = no_parallel_room_ = false;
    if (race_) race_->failed();
    owner_.released(candidate.endpoint.to_string());
    owner_.unreachable(candidate, error);
}

void Connector::connected(Attempt& attempt, int error) {
    if (error != 0) {
        failed(attempt, error);
        return advance();
    }
    current_ = std::move(attempt.candidate);
    auto stream = std::move(attempt.stream);
    reached_ = true;
    retrying_ = no_parallel_room_ = false;
    for (const auto& loser : std::exchange(attempts_, {})) {
        if (loser.get() == &attempt) continue;
        race_->put_back(loser->candidate.endpoint.address);
        ++addresses_left_;
        owner_.released(loser->candidate.endpoint.to_string());
    }
    rearm();
    owner_.reached(*current_, std::move(stream));
}

void Connector::on_deadline() {
    const auto now = Loop::now().monotonic;
    std::vector<Attempt*> due;
    for (const auto& each : attempts_)
        if (each->until <= now) due.push_back(each.get());
    for (auto* attempt : due) {
        if (attempt->stream)
            failed(*attempt, ETIMEDOUT);
        else
            open(*attempt);
    }
    advance();
}

// Sets the deadline to what comes next by itself.
void Connector::rearm() {
    std::optional<smtp::Monotonic> at;
    const auto sooner = [&](smtp::Monotonic other) { at = std::min(at.value_or(other), other); };
    for (const auto& each : attempts_) sooner(each->until);
    if (const auto due = race_ && addresses_left_ > 0 && may_start_attempt() && !reserved_for_other_hosts()
                             ? race_->due()
                             : std::nullopt)
        sooner(*due);
    if (at && !over_)
        deadline_.set(*at);
    else
        deadline_.clear();
}

} // namespace smtp_client
