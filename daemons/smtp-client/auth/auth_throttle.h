// Who may knock now: until an account is known to be good, one connection authenticates with it and the
// others wait for what becomes of that; what was refused is not tried again for a while. So a wrong password
// is shown to a server once, however much mail waits. Knows neither passwords nor connections.
#pragma once
#include "libsmtp/text/time_types.h"
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace smtp_client {

class AuthThrottle {
public:
    static constexpr smtp::Duration rejection_lifetime = std::chrono::seconds(30);

    // A connection's wish to authenticate. Dropping it without a word gives the ticket to the next.
    class Ticket {
    public:
        ~Ticket();
        Ticket(const Ticket&) = delete;
        Ticket& operator=(const Ticket&) = delete;

        bool granted() const { return state_ == State::granted; }
        // Somebody's try with this account was refused, lately or while this one waited: why; "": not so.
        const std::string& rejection() const { return rejection_; }

        // What became of it; once it has come.
        void accepted();
        void rejected(const std::string& why, smtp::Monotonic now);

    private:
        friend class AuthThrottle;
        enum class State : std::uint8_t { waiting, granted, over };
        Ticket(AuthThrottle& throttle, std::string account, std::function<void()> changed)
            : throttle_(throttle), account_(std::move(account)), changed_(std::move(changed)) {}

        AuthThrottle& throttle_;
        std::string account_, rejection_;
        std::function<void()> changed_;
        State state_ = State::waiting;
    };

    // `changed`: it has come, or rejection() says something; not called from within this. `this` must
    // outlive the Ticket.
    std::unique_ptr<Ticket> request(const std::string& account, smtp::Monotonic now, std::function<void()> changed);

    // The accounts may have changed: nothing is known of them any more.
    void reset();
    // Those that were refused last, with why.
    std::vector<std::string> rejected_accounts() const;

private:
    struct AccountState {
        bool good = false;      // somebody got in since it was last refused
        Ticket* busy = nullptr; // who knocks
        std::deque<Ticket*> waiting;
        std::string refused; // why; "" not
        smtp::Monotonic until{};
    };
    void grant_next(AccountState& account_state);

    std::map<std::string, AccountState> accounts_; // by account; as many as the configuration has
};

} // namespace smtp_client
