// The order in which the addresses of one host are tried, and when (RFC 8305, Happy Eyeballs): IPv6 and IPv4
// alternately, those that failed lately last, another one while the previous one is still connecting. A value with a
// hand-moved clock: knows no socket and makes no queries.
#pragma once
#include "daemons/common/net/network.h"
#include "libsmtp/text/time_types.h"
#include <array>
#include <deque>
#include <optional>
#include <vector>

namespace smtp_client {

class HappyEyeballs {
public:
    struct Delays {
        smtp::Duration resolution = std::chrono::milliseconds(50); // for AAAA, where A was quicker (section 3)
        smtp::Duration attempt = std::chrono::milliseconds(250);   // between two attempts (section 5)
    };
    enum class Family : std::uint8_t { v6, v4 };
    struct Addresses { // each in the order it is to be tried in
        std::vector<common::IpAddress> good, failed_lately;
    };

    explicit HappyEyeballs(Delays delays) : delays_(delays) {}

    // The name system's answer for a family; once for each.
    void add_answer(Family family, Addresses addresses, smtp::Monotonic now);
    bool has_answer(Family family) const { return of(family).answered; }

    // The address to try now; nothing: not yet (due() may say when), or no more (exhausted()).
    std::optional<common::IpAddress> next(smtp::Monotonic now);
    std::optional<smtp::Monotonic> due() const;
    bool exhausted() const;
    // All answers have arrived, there are addresses, and all of them failed lately.
    bool only_failed_lately() const;

    // An attempt failed: the next one need not wait.
    void failed() { not_before_ = {}; }
    // It was not tried to the end: it comes next in its family.
    void put_back(const common::IpAddress& address);

private:
    struct FamilyState {
        bool answered = false;
        std::deque<common::IpAddress> good, failed_lately;
    };
    FamilyState& of(Family family) { return families_[static_cast<std::size_t>(family)]; }
    const FamilyState& of(Family family) const { return families_[static_cast<std::size_t>(family)]; }
    bool empty() const;
    bool resolving() const; // an answer is worth waiting for

    Delays delays_;
    std::array<FamilyState, 2> families_;
    Family next_family_ = Family::v6;    // whose address comes next, if it has any
    smtp::Monotonic not_before_{};       // the next attempt
    smtp::Monotonic resolution_until_{}; // the other family's answer is awaited
};

} // namespace smtp_client
