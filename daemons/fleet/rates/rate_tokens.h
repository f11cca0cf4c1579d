// Tokens for rates that all nodes keep together: asks the store for those that the queue-manager wants, one call each.
// Knows the question and the script; must not know when tokens are needed, nor what begins with them.
#pragma once
#include "daemons/common/logging/metrics/metrics.h"
#include "daemons/common/proto/fleet_rates.h"
#include "daemons/fleet/redis/session.h"
#include <functional>

namespace fleet {

class RateTokens {
public:
    static constexpr std::size_t most_calls = 200;            // without an answer: further questions …
    static constexpr std::chrono::microseconds pause{50'000}; // … are answered with none for now

    struct Dependencies { // all outlive it
        common::Metrics& metrics;
        // Calls the store. False: there is none that can be called.
        std::function<bool(const redis::Script& script, const redis::Command& keys, const redis::Command& arguments,
                           redis::Session::Done done)>
            run;
        std::function<void(const proto::fleet::Tokens&)> answer; // to the queue-manager
    };
    explicit RateTokens(Dependencies dependencies) : deps_(std::move(dependencies)) {}
    RateTokens(const RateTokens&) = delete;
    RateTokens& operator=(const RateTokens&) = delete;

    // It is another store from now on; calls of the one before may never end.
    void start_over();
    void ask(const proto::fleet::AskTokens& question);

private:
    Dependencies deps_;
    std::uint64_t round_ = 0; // of the store
    std::size_t calls_ = 0;   // of this one, under way
};

} // namespace fleet
