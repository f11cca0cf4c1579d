// TLS sessions to come back to, by what they were agreed on with and for. A bounded memory, each used once
// (RFC 8446, C.4); knows no network.
#pragma once
#include "daemons/common/crypto/tls/context.h"
#include <cstddef>
#include <map>
#include <string>

namespace smtp_client {

class Resumptions {
public:
    static constexpr std::size_t most = 1000;

    void keep(const std::string& with, tls::Resumption session) {
        if (!session) return;
        if (kept_.size() >= most && !kept_.contains(with)) kept_.erase(kept_.begin());
        kept_.insert_or_assign(with, std::move(session));
    }
    tls::Resumption take(const std::string& with) {
        auto found = kept_.extract(with);
        return found ? std::move(found.mapped()) : nullptr;
    }

private:
    std::map<std::string, tls::Resumption> kept_;
};

} // namespace smtp_client
