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

class PeerHistory {
public:
    static constexpr std::size_t max_entries = 10'000;
    static constexpr smtp::Duration failed_for = std::chrono::minutes(10);
    static constexpr smtp::Duration distrusted_for = std::chrono::hours(24);

    void record_failure(const common::IpAddress& address, smtp::Monotonic now) {
        note(address, now).failed = now + failed_for;
    }
    void record_success(const common::IpAddress& address) {
        if (auto found = known_.find(address); found != known_.end()) found->second.failed = {};
    }
    void distrust_pipelining(const common::IpAddress& address, smtp::Monotonic now) {
        note(address, now).pipelining_distrusted = now + distrusted_for;
    }
    void distrust_chunking(const common::IpAddress& address, smtp::Monotonic now) {
        note(address, now).chunking_distrusted = now + distrusted_for;
    }
    bool failed_lately(const common::IpAddress& address, smtp::Monotonic now) const {
        const auto found = known_.find(address);
        return found != known_.end() && found->second.failed > now;
    }
    bool may_pipeline(const common::IpAddress& address, smtp::Monotonic now) const {
        const auto found = known_.find(address);
        return found == known_.end() || found->second.pipelining_distrusted <= now;
    }
    bool may_send_chunks(const common::IpAddress& address, smtp::Monotonic now) const {
        const auto found = known_.find(address);
        return found == known_.end() || found->second.chunking_distrusted <= now;
    }

private:
    struct PeerState {
        smtp::Monotonic failed{}, pipelining_distrusted{}, chunking_distrusted{};
        smtp::Monotonic until() const { return std::max({failed, pipelining_distrusted, chunking_distrusted}); }
    };
    PeerState& note(const common::IpAddress& address, smtp::Monotonic now) {
        if (known_.size() >= max_entries) std::erase_if(known_, [&](auto& k) { return k.second.until() <= now; });
        if (known_.size() >= max_entries) known_.erase(known_.begin());
        return known_[address];
    }
    std::map<common::IpAddress, PeerState> known_;
};

} // namespace smtp_client
