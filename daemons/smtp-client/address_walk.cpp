#include "daemons/smtp-client/address_walk.h"
#include "daemons/common/loop.h"
#include <algorithm>
#include <fmt/format.h>
#include <iterator>

namespace smtp_client {

using common::IpAddress;

AddressWalk::AddressWalk(std::shared_ptr<dns::Resolver> resolver, const Peers& peers, std::mt19937& random,
                         Settings settings, std::vector<proto::route::Host> hosts)
    : resolver_(std::move(resolver)), peers_(peers), random_(random), settings_(settings) {
    std::ranges::shuffle(hosts, random_); // equals stay in an order of chance, whatever the sort does to it
    std::ranges::sort(hosts, {}, &proto::route::Host::preference);
    hosts_.assign(std::make_move_iterator(hosts.begin()), std::make_move_iterator(hosts.end()));
}

void AddressWalk::next(Found found) {
    found_ = std::move(found);
    step();
}

void AddressWalk::step() {
    while (settings_.most > 0) {
        if (!candidates_.empty()) {
            --settings_.most;
            auto candidate = std::move(candidates_.front());
            candidates_.pop_front();
            return std::exchange(found_, {})(std::move(candidate));
        }
        if (hosts_.empty()) break;
        const auto host = std::move(hosts_.front());
        hosts_.pop_front();
        const auto literal = IpAddress::parse(host.name);
        if (!literal) return look_up(host);
        candidates_.push_back({host.name, {*literal, host.port}, host.preference});
    }
    std::exchange(found_, {})({});
}

void AddressWalk::look_up(const proto::route::Host& host) {
    a_.reset();
    aaaa_.reset();
    auto ask = [&](dns::Type type, bool wanted, dns::Lookup& lookup, std::optional<dns::Answer>& answer) {
        dns::Answer none;
        none.said = decide::Said::no_data;
        if (!wanted)
            answer = none;
        else if (const auto* known = resolver_->cached(host.name, type))
            answer = *known;
        else
            lookup = resolver_->look_up(host.name, type, [this, &answer](const dns::Answer& said) {
                answer = said;
                answered();
            });
    };
    hosts_.push_front(host); // until it is answered
    ask(dns::Type::aaaa, settings_.ipv6, aaaa_lookup_, aaaa_);
    ask(dns::Type::a, settings_.ipv4, a_lookup_, a_);
    answered();
}

void AddressWalk::answered() {
    if (!a_ || !aaaa_) return;
    const auto host = std::move(hosts_.front());
    hosts_.pop_front();
    if (!a_->addresses.empty() || !aaaa_->addresses.empty()) {
        take(host, std::move(aaaa_->addresses), std::move(a_->addresses));
        return step();
    }
    using decide::Said;
    const bool failed = a_->said == Said::failed || aaaa_->said == Said::failed;
    const bool no_name = a_->said == Said::no_name || aaaa_->said == Said::no_name;
    no_address_ =
        NoAddress{host.name, failed ? "4.4.3" : "4.4.4",
                  fmt::format("Host or domain name not found. Name service error for name={} type={}: {}",
                              host.name, settings_.ipv4 ? "A" : "AAAA",
                              failed    ? "Host not found, try again"
                              : no_name ? "Host not found"
                                        : "Host found but no data record of requested type")};
    step();
}

void AddressWalk::take(const proto::route::Host& host, std::vector<IpAddress> v6, std::vector<IpAddress> v4) {
    std::ranges::shuffle(v6, random_);
    std::ranges::shuffle(v4, random_);
    const auto now = common::Loop::now().monotonic;
    std::vector<Candidate> last; // those that failed lately
    auto add = [&](const IpAddress& address) {
        Candidate candidate{host.name, {address, host.port}, host.preference};
        if (peers_.failed_lately(address, now))
            last.push_back(std::move(candidate));
        else
            candidates_.push_back(std::move(candidate));
    };
    for (std::size_t i = 0; i < std::max(v6.size(), v4.size()); ++i) {
        if (i < v6.size()) add(v6[i]);
        if (i < v4.size()) add(v4[i]);
    }
    std::ranges::move(last, std::back_inserter(candidates_));
}

} // namespace smtp_client
