// A whole conversation with a server session: what a client sends, in pieces, and what it gets.
#pragma once
#include "tests/libsmtp/session/server_peer.h"
#include "tests/libsmtp/text/pieces.h"
#include <string>
#include <vector>

namespace smtp::testing {

// Groups of commands that may be sent at once; the client listens between two of them.
struct Spoken {
    std::string sent, log;
    bool operator==(const Spoken&) const = default;
};
inline Spoken converse(const std::vector<std::string>& groups, std::size_t length, const ServerSettings& settings,
                       ServerRights rights = {}) {
    ServerPeer peer(settings);
    peer.session.grant(rights);
    for (auto& group : groups)
        for (auto piece : pieces::of(group, length)) peer.feed(piece);
    return {peer.sent, peer.log};
}

inline std::string greeting(const ServerSettings& settings) {
    return "220 " + settings.hostname + " ESMTP Postrider\r\n";
}

} // namespace smtp::testing
