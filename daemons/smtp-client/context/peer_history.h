// What is remembered of servers' addresses between connections: those that failed lately are tried last,
// those whose replies went out of step under pipelining are spared it, as are those whose BDAT went wrong. All UNIX
// sockets are one peer here ("::"). A bounded memory; knows no network.
#pragma once
#include "daemons/common/net/network.h"
#include "libsmtp/text/time_types.h"
#include <algorithm>
#include <cstddef>
#include <map>

namespace smtp_client {

class Peers {
public:
    static constexpr std::size_t most = 10'000;
    static constexpr smtp::Duration failed_for = std::chrono::minutes(10);
    static constexpr smtp::Duration distrusted_for = std::chrono::hours(24);

    void failed(const common::IpAddress& address, smtp::Monotonic now) {
        note(address, now).failed = now + failed_for;
    }
    void worked(const common::IpAddress& address) {
        if (auto found = known_.find(address); found != known_.end()) found->second.failed = {};
    }
    void distrust_pipelining(const common::IpAddress& address, smtp::Monotonic now) {
        note(address, now).distrusted = now + distrusted_for;
    }
    void distrust_chunking(const common::IpAddress& address, smtp::Monotonic now) {
        note(address, now).no_chunks = now + distrusted_for;
    }
    bool failed_lately(const common::IpAddress& address, smtp::Monotonic now) const {
        const auto found = known_.find(address);
        return found != known_.end() && found->second.failed > now;
    }
    bool may_pipeline(const common::IpAddress& address, smtp::Monotonic now) const {
        const auto found = known_.find(address);
        return found == known_.end() || found->second.distrusted <= now;
    }
    bool may_send_chunks(const common::IpAddress& address, smtp::Monotonic now) const {
        const auto found = known_.find(address);
        return found == known_.end() || found->second.no_chunks <= now;
    }

private:
    struct Known {
        smtp::Monotonic failed{}, distrusted{}, no_chunks{};
        smtp::Monotonic until() const { return std::max({failed, distrusted, no_chunks}); }
    };
    Known& note(const common::IpAddress& address, smtp::Monotonic now) {
        if (known_.size() >= most)
            std::erase_if(known_, [&](auto& k) { return k.second.until() <= now; });
        if (known_.size() >= most) known_.erase(known_.begin());
        return known_[address];
    }
    std::map<common::IpAddress, Known> known_;
};

} // namespace smtp_client
