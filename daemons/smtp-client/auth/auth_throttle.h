// Decides which connection may authenticate now: until an account is known to work, one connection authenticates with
// it and the others wait for the outcome; a rejected account is not tried again for a while. So a wrong password is
// sent to a server once, however much mail is waiting. Knows neither passwords nor connections.
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

    // A connection's request to authenticate. Destroying it without reporting an outcome passes the turn to the next
    // one.
    class Ticket {
    public:
        ~Ticket();
        Ticket(const Ticket&) = delete;
        Ticket& operator=(const Ticket&) = delete;

        bool granted() const { return state_ == State::granted; }
        // Why an attempt with this account was rejected, recently or while this one was waiting; "": it was not.
        const std::string& rejection() const { return rejection_; }

        // The outcome, once known.
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

    // `changed`: the ticket is granted, or rejection() is set; never called from within this function. `this` must
    // outlive the Ticket.
    std::unique_ptr<Ticket> request(const std::string& account, smtp::Monotonic now, std::function<void()> changed);

    // The accounts may have changed: forgets everything about them.
    void reset();
    // Accounts that were rejected at the last attempt, with the reason.
    std::vector<std::string> rejected_accounts() const;

private:
    struct AccountState {
        bool good = false;      // an attempt succeeded after the last rejection
        Ticket* busy = nullptr; // the ticket that is authenticating
        std::deque<Ticket*> waiting;
        std::string refused; // the reason; "": not rejected
        smtp::Monotonic until{};
    };
    void grant_next(AccountState& account_state);

    std::map<std::string, AccountState> accounts_; // by account; as many as the configuration has
};

} // namespace smtp_client
