// The source addresses one connection may use: those of its pool, the ones chosen, those that servers rejected.
// Without a pool the kernel chooses. Knows no sockets and no SMTP.
#pragma once
#include "daemons/common/config/sections/delivery/pools.h"
#include <array>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace smtp_client {

class SourceAddresses {
public:
    // `resting`: its addresses that are the last choice. After `max_rejections` the current address is kept.
    SourceAddresses(std::shared_ptr<const config::Pool> pool, const std::vector<std::string>& resting,
                    std::size_t max_rejections, std::mt19937& random);
    SourceAddresses(const SourceAddresses&) = delete; // its results point into it

    bool has_pool() const { return pool_ != nullptr; }
    const std::string& pool_name() const { return pool_->name; }
    // Does the pool have an address that reaches those of this family? Without a pool, always.
    bool reaches_v4() const { return reaches(Family::v4); }
    bool reaches_v6() const { return reaches(Family::v6); }

    // The source address for `to`, the same for all of its family until it is rejected; null: none is left.
    const config::SourceAddress* source_for(const common::IpAddress& to);
    // The next server is reached from that address, if it can be used and is not backing off: a server that greylists
    // expects the mail from the same address again. "": from any.
    void prefer(const std::string& source);
    // Should the current server be reached from that address instead? Then it is preferred.
    bool switch_to_preferred(const std::string& source);
    // Why source_for() has none for `to`: "the pool bulk has no IPv6 address".
    std::string why_no_source_for(const common::IpAddress& to) const;
    // This host does not have the address.
    void mark_unusable(const config::SourceAddress& source);
    // A server was reached from it (null: no pool).
    void reached(const config::SourceAddress* source) { current_ = source; }
    // "from 192.0.2.1, of the pool bulk": the current one, and those of the pool that this host does not have; "" no
    // pool
    std::string description() const;
    const config::SourceAddress* current() const { return current_; }
    std::string current_text() const { return current_ ? current_->address.to_string() : std::string(); }
    // The server rejects the current one. False: there is no other to try there, or enough have been tried.
    bool rejected_by_server(std::string why);
    // The site rejects the current one, and so will its other servers. False: there is no other to try there that is
    // not backing off, or enough have been tried.
    bool rejected_by_site();
    // The current one is backing off for the site, as far as this connection knows.
    bool is_backing_off() const { return current_ != nullptr && states_[index_of(*current_)].backing_off; }
    // … and was accepted anyway.
    void end_backoff();
    // Another server is tried next: rejections by the previous one do not count for it.
    void next_server();

    struct Rejection {
        std::string source, why;
    };
    // Those that the server rejected before it accepted the current one: the server itself was not the problem.
    std::vector<Rejection> take_rejections();
    std::vector<std::string> take_unusable();

private:
    enum class Family : std::uint8_t { v4, v6 };
    static Family family_of(const common::IpAddress& address) { return address.is_v4() ? Family::v4 : Family::v6; }
    struct AddressState { // of an address, by its place in the pool
        bool backing_off = false, rejected = false, unusable = false;
    };
    std::size_t index_of(const config::SourceAddress& source) const;
    const config::SourceAddress* usable(const std::string& source) const;
    std::string missing_addresses() const;
    bool reaches(Family family) const;
    enum class Among : std::uint8_t { all, not_backing_off };
    const config::SourceAddress* choose(Family family, Among among = Among::all);
    bool choose_another(Among among);

    std::shared_ptr<const config::Pool> pool_;
    std::mt19937& random_;
    std::vector<AddressState> states_;
    std::array<const config::SourceAddress*, 2> chosen_{}; // by family
    const config::SourceAddress* current_ = nullptr;
    std::vector<Rejection> rejections_; // of the server that is being reached
    std::vector<std::string> unusable_;
    std::size_t rejections_left_;
};

} // namespace smtp_client
