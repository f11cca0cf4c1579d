// Counts invalid tokens by the client's network, so that guessing ends after some attempts, for a while. Bounded: of
// too many networks, the one whose count began first is forgotten. Knows no clock and no tokens.
#pragma once
#include "daemons/common/net/network.h"
#include "libsmtp/text/time_types.h"
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <optional>

namespace http {

class FailedTokens {
public:
    static constexpr std::size_t most_networks = 10'000;

    struct Limits {
        std::uint32_t per_network = 0; // invalid tokens; 0: no limit
        smtp::Duration window{};       // from the first one on
    };

    // An IPv4 /24, an IPv6 /64.
    static common::Network network_of(const common::IpAddress& address);

    // True: this one has locked its network out.
    bool record(const common::IpAddress& from, const Limits& limits, smtp::Monotonic now);
    // How long the lockout still lasts; nothing if there is none.
    std::optional<smtp::Duration> locked_for(const common::IpAddress& from, const Limits& limits,
                                             smtp::Monotonic now) const;
    void clear();
    std::size_t size() const { return counts_.size(); }

private:
    struct Count {
        common::IpAddress base; // of the network
        std::uint32_t failures;
        smtp::Monotonic since;
    };
    void forget_first();

    std::list<Count> counts_; // in the order in which they began
    std::map<common::IpAddress, std::list<Count>::iterator> by_network_;
};

} // namespace http
