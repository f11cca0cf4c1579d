#include "daemons/smtp-client/connect/connector.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fmt/format.h>

namespace smtp_client {

using common::IpAddress;
using common::Loop;
using namespace std::chrono_literals;
using End = Dial::Owner::End;

namespace {
bool is_path(const std::string& name) { return name.starts_with('/'); } // of a UNIX socket; its address is "::"
} // namespace

Dial::Dial(Office& office, Owner& owner, const std::vector<proto::route::Host>& hosts, Sources* sources)
    : office_(office), owner_(owner), sources_(sources), resolver_(office.resolver),
      deadline_(office.deadlines, [this] { expired(); }), left_(office.settings.addresses_per_attempt) {
    std::vector<decide::Rank> ranks;
    for (const auto& host : hosts) ranks.push_back(host.rank());
    const auto chance = [&](std::uint32_t most) {
        return std::uniform_int_distribution<std::uint32_t>(0, most)(office_.random);
    };
    for (const auto place : decide::host_order(ranks, chance)) hosts_.push_back(hosts[place]);
}

void Dial::next() {
    if (over_) return;
    if (std::exchange(reached_, false)) owner_.left(current_->endpoint.to_string());
    no_room_besides_ = false;
    if (race_) race_->failed();
    go();
}

void Dial::again() {
    reached_ = false;
    alone_ = true;
    begin(*current_);
    go();
}

void Dial::stop() {
    over_ = true;
    deadline_.clear();
    a_lookup_.cancel();
    aaaa_lookup_.cancel();
    attempts_.clear();
}

void Dial::finish(End end) {
    stop();
    owner_.out_of_addresses(end);
}

void Dial::forgo_fallback() {
    std::erase_if(hosts_, [](auto& host) { return host.tier == decide::Tier::fallback; });
    if (host_ && host_->tier == decide::Tier::fallback) left_ = 0;
}

bool Dial::may_begin() const {
    const bool starved = std::ranges::any_of(attempts_, [](auto& each) { return !each->wire; });
    return !over_ && !reached_ && !asked_ && !alone_ && !starved && (!no_room_besides_ || attempts_.empty());
}

// Tries what is to be tried now. Called whenever something has changed.
void Dial::go() {
    while (may_begin()) {
        if (left_ == 0 && attempts_.empty()) end_tier();
        const bool finished = !race_ || race_->exhausted() || owed_to_others();
        if (finished && attempts_.empty()) {
            if (!next_host()) return;
            continue;
        }
        const auto address = left_ > 0 && !finished ? race_->next(Loop::now().monotonic) : std::nullopt;
        if (!address) break;
        --left_;
        const auto how = attempts_.empty() ? Owner::Asks::instead : Owner::Asks::besides;
        asked_ = Question{{*host_, {*address, host_->port}}, how};
        if (is_path(host_->name)) asked_->candidate.endpoint.path = host_->name;
        owner_.ask(asked_->candidate.endpoint.to_string(), how);
    }
    rewind();
}

// The hosts of this tier that have not been looked at. Those put off are behind them.
std::size_t Dial::waiting_fresh() const {
    return static_cast<std::size_t>(std::ranges::count(hosts_, host_->tier, &proto::route::Host::tier)) - put_off_;
}

// An attempt ends after so many addresses. The last of them is another host's, if there is one; and where hosts are
// too many for all to have one, those with nothing but addresses that failed lately come behind the others. Or one
// dead host, or a few, would keep mail from those that serve, for ever.
bool Dial::owed_to_others() const {
    if (!race_ || left_ == 0) return false;
    const auto others = waiting_fresh();
    return tried_ > 0 ? left_ == 1 && others > 0 : others >= left_ && race_->only_failed_lately();
}

void Dial::put_off() {
    const auto tier = host_->tier;
    const auto end = std::ranges::find_if(hosts_, [&](auto& host) { return host.tier != tier; });
    hosts_.insert(end, *host_);
    ++put_off_;
}

// As many addresses as an attempt may try have been tried: what is left are the hosts to fall back on, with as
// many of their own.
void Dial::end_tier() {
    const bool last = host_ && host_->tier == decide::Tier::fallback;
    std::erase_if(hosts_, [&](auto& host) { return last || host.tier != decide::Tier::fallback; });
    race_.reset();
    put_off_ = 0;
}

// False: there is none, and that has been said.
bool Dial::next_host() {
    if (tried_ == 0 && owed_to_others()) put_off();
    race_.reset();
    tried_ = 0;
    a_lookup_.cancel();
    aaaa_lookup_.cancel();
    const auto before = host_ ? host_->tier : decide::Tier::first;
    // Hosts of a worse preference are for when the better ones fail, not for when we ourselves fill those.
    if (crowded_ && (hosts_.empty() || hosts_.front().rank().order() > *crowded_))
        return finish(End::crowded), false;
    if (hosts_.empty()) return finish(End::exhausted), false;
    host_ = std::move(hosts_.front());
    hosts_.pop_front();
    const auto behind = static_cast<std::size_t>(std::ranges::count(hosts_, host_->tier, &proto::route::Host::tier));
    put_off_ = std::min(put_off_, behind);
    if (host_->tier == decide::Tier::fallback && before != decide::Tier::fallback)
        left_ = office_.settings.addresses_per_attempt;
    race_.emplace(Race::Delays{.attempt = office_.settings.connection_attempt_delay});
    const auto literal = is_path(host_->name) ? std::optional(IpAddress{}) : IpAddress::parse(host_->name);
    if (literal) {
        race_->known(Race::Family::v6, sorted({*literal}), {});
        race_->known(Race::Family::v4, {}, {});
    } else {
        look_up();
    }
    return true;
}

void Dial::look_up() {
    a_.reset();
    aaaa_.reset();
    ask_name(dns::Type::aaaa, uses_v6(), aaaa_lookup_, aaaa_);
    ask_name(dns::Type::a, uses_v4(), a_lookup_, a_);
}

void Dial::ask_name(dns::Type type, bool wanted, dns::Lookup& lookup, std::optional<dns::Answer>& answer) {
    if (!wanted) {
        answer.emplace().said = decide::Said::no_data;
        answered(type);
    } else if (const auto* known = resolver_->cached(host_->name, type)) {
        answer = *known;
        answered(type);
    } else {
        lookup = resolver_->look_up(host_->name, type, [this, type, &answer](const dns::Answer& said) {
            answer = said;
            answered(type);
            go();
        });
    }
}

Race::Addresses Dial::sorted(const std::vector<IpAddress>& list) const {
    const auto now = Loop::now().monotonic;
    Race::Addresses out;
    for (const auto& address : list)
        (office_.peers.failed_lately(address, now) ? out.failed_lately : out.good).push_back(address);
    return out;
}

void Dial::answered(dns::Type type) {
    const auto& answer = type == dns::Type::a ? *a_ : *aaaa_;
    owner_.looked_up(host_->name, type, answer);
    auto list = answer.addresses;
    std::ranges::shuffle(list, office_.random);
    race_->known(type == dns::Type::a ? Race::Family::v4 : Race::Family::v6, sorted(list), Loop::now().monotonic);
    if (!a_ || !aaaa_ || !a_->addresses.empty() || !aaaa_->addresses.empty()) return;

    using decide::Said;
    const bool failed = a_->said == Said::failed || aaaa_->said == Said::failed;
    const bool no_name = a_->said == Said::no_name || aaaa_->said == Said::no_name;
    const bool both = uses_v4() && uses_v6();
    owner_.no_address(failed ? "4.4.3" : both ? "5.4.4" : "4.4.4",
                      fmt::format("Host or domain name not found. Name service error for name={} type={}: {}",
                                  host_->name, uses_v4() ? "A" : "AAAA",
                                  failed    ? fmt::format("Host not found, try again ({})",
                                                       a_->said == Said::failed ? a_->why : aaaa_->why)
                                  : no_name ? std::string("Host not found")
                                            : std::string("Host found but no data record of requested type")));
}

void Dial::permit(bool granted) {
    if (over_ || !asked_) return;
    auto [candidate, how] = *std::exchange(asked_, std::nullopt);
    if (reached_ || (!granted && how == Owner::Asks::besides)) { // lost before it began, or waits for the others
        if (granted) owner_.left(candidate.endpoint.to_string());
        race_->put_back(candidate.endpoint.address);
        ++left_;
        no_room_besides_ = !granted;
        return go();
    }
    if (!granted) {
        const auto order = candidate.host.rank().order();
        crowded_ = std::min(crowded_.value_or(order), order);
        race_->failed();
        return go();
    }
    begin(std::move(candidate));
    go();
}

void Dial::begin(Candidate candidate) {
    ++tried_;
    attempts_.push_back(std::make_unique<Attempt>(Attempt{std::move(candidate)}));
    open(*attempts_.back());
}

// Where the candidate really is: a test may have moved it.
common::Endpoint Dial::really(const Candidate& candidate) const {
    for (const auto& moved : office_.connect_to)
        if (moved.port == candidate.endpoint.port &&
            (moved.host == candidate.name() || moved.host == candidate.endpoint.address.to_string()))
            return moved.to;
    return candidate.endpoint;
}

void Dial::open(Attempt& attempt) {
    const auto to = really(attempt.candidate);
    const bool from_pool = sources_ && sources_->has_pool() && to.path.empty(); // a UNIX socket is reached from nowhere
    const auto* source = attempt.candidate.source = from_pool ? sources_->toward(to.address) : nullptr;
    if (!source && from_pool) return given_up(attempt, EADDRNOTAVAIL); // the server is not to blame
    auto wire = Wire::connect(office_.loop, to, source ? &source->address : nullptr,
                              {[this, &attempt](int error) { connected(attempt, error); },
                               [this] { owner_.readable(); }, [this] { owner_.writable(); }});
    if (!wire && wire.error().cause == ConnectError::Cause::source_unavailable) {
        sources_->unusable(*source);
        return open(attempt); // from another
    }
    const auto now = Loop::now().monotonic;
    if (!wire && spool::is_out_of_means(wire.error().error)) {
        office_.say_starved(wire.error().error);
        attempt.until = now + 1s; // as often as it takes
        return;
    }
    if (!wire) return failed(attempt, wire.error().error.code);
    attempt.wire = *std::move(wire);
    attempt.until = now + office_.settings.connect_timeout;
}

void Dial::failed(Attempt& attempt, int error) {
    office_.peers.failed(attempt.candidate.endpoint.address, Loop::now().monotonic);
    given_up(attempt, error);
}

void Dial::given_up(Attempt& attempt, int error) {
    const auto candidate = std::move(attempt.candidate);
    std::erase_if(attempts_, [&](auto& each) { return each.get() == &attempt; });
    alone_ = no_room_besides_ = false;
    if (race_) race_->failed();
    owner_.left(candidate.endpoint.to_string());
    owner_.unreachable(candidate, error);
}

void Dial::connected(Attempt& attempt, int error) {
    if (error != 0) {
        failed(attempt, error);
        return go();
    }
    current_ = std::move(attempt.candidate);
    auto wire = std::move(attempt.wire);
    reached_ = true;
    alone_ = no_room_besides_ = false;
    for (const auto& loser : std::exchange(attempts_, {})) {
        if (loser.get() == &attempt) continue;
        race_->put_back(loser->candidate.endpoint.address);
        ++left_;
        owner_.left(loser->candidate.endpoint.to_string());
    }
    rewind();
    owner_.reached(*current_, std::move(wire));
}

void Dial::expired() {
    const auto now = Loop::now().monotonic;
    std::vector<Attempt*> due;
    for (const auto& each : attempts_)
        if (each->until <= now) due.push_back(each.get());
    for (auto* attempt : due) {
        if (attempt->wire)
            failed(*attempt, ETIMEDOUT);
        else
            open(*attempt);
    }
    go();
}

// Sets the deadline to what comes next by itself.
void Dial::rewind() {
    std::optional<smtp::Monotonic> at;
    const auto sooner = [&](smtp::Monotonic other) { at = std::min(at.value_or(other), other); };
    for (const auto& each : attempts_) sooner(each->until);
    if (const auto due = race_ && left_ > 0 && may_begin() && !owed_to_others() ? race_->due() : std::nullopt) sooner(*due);
    if (at && !over_)
        deadline_.set(*at);
    else
        deadline_.clear();
}

} // namespace smtp_client
