// In which order the hosts of a link are tried: MX hosts by preference with chance among equals (RFC 5321,
// 5.1), those of SRV records by priority and weight (RFC 2782). A function of the records and of random
// numbers.
#pragma once
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace decide {

// What comes before all preference: each tier is for when all of the one before have failed.
enum class Tier : std::uint8_t {
    first,    // MX hosts, a route's hosts; of submission: TLS from the first byte (RFC 8314)
    second,   // of submission: STARTTLS
    fallback, // what the route falls back on
    last_ = fallback,
};

struct Rank {
    Tier tier = Tier::first;
    std::uint16_t preference = 0; // the lower the better
    std::uint16_t weight = 0;     // among equals: the share that comes first. All 0: equal shares
    // Equivalent: chance decides.
    auto order() const { return std::pair(tier, preference); }
    bool operator==(const Rank&) const = default;
};

// A number from 0 to `most`, each as likely.
using Chance = std::function<std::uint32_t(std::uint32_t most)>;

// The places in `ranks`, in the order in which they are to be tried.
std::vector<std::size_t> host_order(const std::vector<Rank>& ranks, const Chance& chance);

} // namespace decide
