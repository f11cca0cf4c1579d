// Which hosts of a link a connection tries, in which order and how many, and what an agent remembers about hosts that
// failed: as in daemons/smtp-client/connect, with one address for each host. Knows no conversation, no engine.
#pragma once
#include "daemons/decide/hosts/mx.h"
#include "libsmtp/text/time_types.h"
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace postrider::simulate {

// Of one agent.
class RecentFailures {
public:
    void add(const std::string& host, smtp::Duration now) { until_[host] = now + std::chrono::minutes(10); }
    void succeeded(const std::string& host) { until_.erase(host); }
    bool contains(const std::string& host, smtp::Duration now) const {
        const auto found = until_.find(host);
        return found != until_.end() && found->second > now;
    }

private:
    std::map<std::string, smtp::Duration> until_;
};

class Candidates {
public:
    Candidates() = default; // no hosts
    // `most`: limit for the first hosts, and again for those to fall back on.
    Candidates(const std::vector<decide::Host>& hosts, std::size_t most, const decide::Chance& chance);

    // The next to try; nothing: no more in this attempt.
    std::optional<decide::Host> next(const RecentFailures& memory, smtp::Duration now);
    // A rejection that counts for all hosts of the destination.
    void drop_fallback();

private:
    std::deque<decide::Host> hosts_; // in order; those to come
    std::size_t most_ = 0, left_ = 0;
    std::size_t postponed_ = 0; // hosts at the end of the tier that have been examined before
    decide::Tier tier_ = decide::Tier::first;
};

} // namespace postrider::simulate
