// TLS sessions to come back to, by what they were agreed on with and for. A bounded memory, each used once
// (RFC 8446, C.4); knows no network.
#pragma once
#include "daemons/common/crypto/tls/context.h"
#include <cstddef>
#include <map>
#include <string>

namespace smtp_client {

class ResumptionCache {
public:
    static constexpr std::size_t max_entries = 1000;

    void store(const std::string& with, tls::ResumableSession session) {
        if (!session) return;
        if (sessions_.size() >= max_entries && !sessions_.contains(with)) sessions_.erase(sessions_.begin());
        sessions_.insert_or_assign(with, std::move(session));
    }
    tls::ResumableSession take(const std::string& with) {
        auto found = sessions_.extract(with);
        return found ? std::move(found.mapped()) : nullptr;
    }

private:
    std::map<std::string, tls::ResumableSession> sessions_;
};

} // namespace smtp_client
