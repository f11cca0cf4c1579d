// Counts wrong passwords by client network and user name, and by network: so that guessing is slow, and one user's
// mistake does not lock others out of a shared address. Bounded; knows no clock and no session.
#pragma once
#include "libsmtp/text/time_types.h"
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace smtpd {

class Lockouts {
public:
    struct Limits {
        std::uint32_t per_user = 0;    // wrong passwords of one user from one network; 0: no limit
        std::uint32_t per_network = 0; // of all from one network; 0: no limit
        smtp::Duration window{};       // from the first one on
    };
    struct Triggered { // which lockouts a wrong password has triggered
        bool user = false, network = false;
    };
    // `user` may be empty: it is not known. Nothing is counted for a user while locked out.
    Triggered record_failure(const std::string& network, std::string_view user, const Limits& limits,
                             smtp::Monotonic now);
    // Forgets this user's failures from there.
    void record_success(const std::string& network, std::string_view user);
    // How long the lockout still lasts; nothing if there is none.
    std::optional<smtp::Duration> user_locked_for(const std::string& network, std::string_view user,
                                                  const Limits& limits, smtp::Monotonic now) const;
    std::optional<smtp::Duration> network_locked_for(const std::string& network, const Limits& limits,
                                                     smtp::Monotonic now) const;
    void clear();

    static constexpr std::size_t max_entries = 50'000; // networks, and users, remembered

private:
    struct Count {
        std::uint32_t failures = 0;
        smtp::Monotonic since;
    };
    struct Network {
        Count all;
        std::unordered_map<std::string, Count> users; // lower case
    };
    void sweep(smtp::Monotonic now, smtp::Duration window);

    std::unordered_map<std::string, Network> networks_;
    std::size_t users_ = 0; // of all networks
    smtp::Monotonic last_sweep_;
};

} // namespace smtpd
