// Asks the DNS lists of a listener about one address, all at once, and adds their weights up. Decides nothing.
#pragma once
#include "daemons/common/config/sections/server/filters.h"
#include "daemons/common/net/dns/resolver.h"
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace common {

class DnsListLookup {
public:
    using OnAnswer = std::function<void(const config::DnsList& list, const dns::Answer& answer)>;
    // `lists` outlive it.
    DnsListLookup(std::shared_ptr<dns::Resolver> resolver, const std::vector<config::DnsList>& lists)
        : resolver_(std::move(resolver)), lists_(lists) {}
    DnsListLookup(const DnsListLookup&) = delete;

    // `on_answer` is called for each answer, from the loop.
    void begin(const common::IpAddress& address, OnAnswer on_answer);
    // Lists that have not answered yet count as if they did not have the address; their zones.
    std::vector<std::string> abandon();

    bool pending() const { return open_ > 0; }
    std::int64_t sum() const { return sum_; }
    // Zones that have the address and count against it, "a.example, b.example".
    const std::string& named_by() const { return named_by_; }
    // How long all answers are valid; nothing if a list has not answered.
    std::chrono::seconds valid() const { return complete_ ? valid_ : std::chrono::seconds(0); }

private:
    void take(const config::DnsList& list, const dns::Answer& answer);

    std::shared_ptr<dns::Resolver> resolver_;
    const std::vector<config::DnsList>& lists_;
    std::size_t open_ = 0;
    std::int64_t sum_ = 0;
    std::string named_by_;
    std::chrono::seconds valid_ = std::chrono::hours(24 * 365);
    bool complete_ = true;
    OnAnswer on_answer_;
    std::vector<bool> answered_;
    std::vector<dns::Lookup> lookups_;
};

} // namespace common
