// What a client meets at a listener before any rule: the permanent lists, DNS lists and tests of [client_tests], as
// smtpd has them. Asks the tables and the DNS; cannot know how a client behaves, and does not look into the memory of
// those that passed.
#pragma once
#include "daemons/common/access/dns_list_lookup.h"
#include "daemons/common/config/sections/server/listener_tests.h"
#include "daemons/common/runtime/loop.h"
#include "daemons/decide/access/evaluation.h"
#include "daemons/decide/screening/screening.h"
#include "libsmtp/protocol/reply.h"
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace postrider {

class DoorTrial {
public:
    struct Step {
        std::string what, found, result; // "DNS list bl.example", "127.0.0.2, weight 2", ""
    };
    struct Findings {
        std::vector<Step> steps; // empty: the listener tests no clients, or not this one
        std::optional<smtp::Reply> rejection;
    };
    struct Settings { // of the configuration
        const config::ClientTests& tests;
        const std::vector<config::DnsList>& lists;
        std::chrono::microseconds greeting_delay;
        std::uint32_t threshold; // smtpd.dns_list_threshold
    };
    using LookUp = std::function<decide::access::Answer(const std::string& table, const std::string& key)>;

    // All outlive it. The loop is run while an answer is missing.
    DoorTrial(common::Loop& loop, std::shared_ptr<dns::Resolver> resolver, const Settings& settings,
              const config::Listener& listener, LookUp look_up);

    static bool has_tests(const Settings& settings, const config::Listener& listener);
    // `trusted`: it may relay by its address; it is not tested then.
    Findings try_client(const common::IpAddress& address, bool trusted);

private:
    enum class Listed : std::uint8_t { no, allowed, denied };

    Listed look_up_lists(const common::IpAddress& address);
    void deny();
    void ask_dns_lists(const common::IpAddress& address);
    void add_score(const common::IpAddress& address);
    void add_other_tests(const common::IpAddress& address);
    void add(std::string what, std::string found, std::string result = "");
    void reject(const smtp::Reply& reply);

    common::Loop& loop_;
    std::shared_ptr<dns::Resolver> resolver_;
    const Settings settings_;
    const LookUp look_up_;
    const std::vector<config::DnsList> lists_;
    const std::optional<decide::screening::Settings> tests_;
    common::DnsListLookup dns_lists_;
    Findings findings_;
};

} // namespace postrider
