// One connection to the store: the lookup of its name, TCP to its addresses in turn, TLS with a verified certificate if
// the address asks for it. Knows bytes only; time limits are its owner's business.
#pragma once
#include "daemons/common/crypto/tls/session.h"
#include "daemons/common/net/client_stream.h"
#include "daemons/common/net/store_address.h"
#include "daemons/common/runtime/loop.h"
#include "daemons/fleet/host_lookup.h"
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace fleet {

class StoreConnection {
public:
    // None of them may destroy the connection; `closed` is called once, last, and never from the constructor or send().
    struct Callbacks {
        std::function<void()> ready;
        std::function<void(std::string_view)> data;
        std::function<void(const std::string& why)> closed;
    };
    // `tls`: a client's context, if the address is encrypted. `turn`: which of several addresses is the first.
    StoreConnection(common::Loop& loop, const common::StoreAddress& address, std::shared_ptr<const tls::Context> tls,
                    std::size_t turn, Callbacks callbacks);
    StoreConnection(const StoreConnection&) = delete;
    StoreConnection& operator=(const StoreConnection&) = delete;

    void send(std::string bytes); // once it is ready

private:
    void try_next();
    void received(std::string_view bytes);
    void handshake();
    void read();
    void stream_closed(const std::string& why);
    void fail(std::string why);

    common::Loop& loop_;
    const common::StoreAddress address_;
    std::shared_ptr<const tls::Context> context_;
    Callbacks callbacks_;
    std::unique_ptr<HostLookup> lookup_;
    std::deque<common::Endpoint> addresses_; // not yet tried
    std::unique_ptr<common::ClientStream> stream_;
    std::unique_ptr<tls::Session> tls_;
    bool ready_ = false, failed_ = false;
    std::string problem_;
    common::TurnHook connected_hook_, closed_hook_;
};

} // namespace fleet
