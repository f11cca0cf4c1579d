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

class AuthTurns {
public:
    static constexpr smtp::Duration refusal_holds = std::chrono::seconds(30);

    // A connection's wish to authenticate. Dropping it without a word gives the turn to the next.
    class Turn {
    public:
        ~Turn();
        Turn(const Turn&) = delete;
        Turn& operator=(const Turn&) = delete;

        bool has_come() const { return state_ == State::come; }
        // Somebody's try with this account was refused, lately or while this one waited: why; "": not so.
        const std::string& refused_before() const { return refused_; }

        // What became of it; once it has come.
        void accepted();
        void refused(const std::string& why, smtp::Monotonic now);

    private:
        friend class AuthTurns;
        enum class State : std::uint8_t { waiting, come, over };
        Turn(AuthTurns& turns, std::string account, std::function<void()> changed)
            : turns_(turns), account_(std::move(account)), changed_(std::move(changed)) {}

        AuthTurns& turns_;
        std::string account_, refused_;
        std::function<void()> changed_;
        State state_ = State::waiting;
    };

    // `changed`: it has come, or refused_before() says something; not called from within this. `this` must
    // outlive the Turn.
    std::unique_ptr<Turn> ask(const std::string& account, smtp::Monotonic now, std::function<void()> changed);

    // The accounts may have changed: nothing is known of them any more.
    void forget();
    // Those that were refused last, with why.
    std::vector<std::string> refusals() const;

private:
    struct Door {
        bool good = false;    // somebody got in since it was last refused
        Turn* busy = nullptr; // who knocks
        std::deque<Turn*> waiting;
        std::string refused; // why; "" not
        smtp::Monotonic until{};
    };
    void next(Door& door);

    std::map<std::string, Door> doors_; // by account; as many as the configuration has
};

} // namespace smtp_client
