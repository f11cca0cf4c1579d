// The idempotency keys of the fleet: the writers of this node that ask for them, and its own store of keys, with the
// queue-manager. Only puts both together, and says what it means while the store is away.
#pragma once
#include "daemons/common/config/sections/system/fleet.h"
#include "daemons/common/ipc/connector.h"
#include "daemons/common/process/daemon.h"
#include "daemons/fleet/keys/key_keeper.h"
#include "daemons/fleet/keys/key_service.h"
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace fleet {

class KeySharing {
public:
    KeySharing(common::DaemonContext& context, StoreCalls store);
    KeySharing(const KeySharing&) = delete;
    KeySharing& operator=(const KeySharing&) = delete;

    // `origin`: the domain that addresses without one get. `socket`: for the writers; empty: the one in use.
    void reconfigure(const config::Fleet& fleet, const std::string& origin, common::Fd socket,
                     ipc::ExpectedTokens expected);
    // `why_not`: the store cannot be called now; "": it can.
    void use(const std::string& why_not);
    // To the store: it may lack what it had.
    void connected_anew() { keeper_.offer(); }
    // The nodes that the store shows. Those that it has shown before and does not any longer are waited for: it was
    // emptied.
    struct Node {
        std::string name;
        bool runs = false;
    };
    void heard(const std::vector<Node>& nodes);
    // While the store is away; "": nothing is different.
    std::string_view effect() const;

private:
    using Connector = ipc::Connector<proto::key_records::Message>;
    void connect_queue_manager();
    void expect_nodes();

    common::DaemonContext& context_;
    const StoreCalls store_;
    config::Fleet fleet_;
    KeyKeeper keeper_;
    std::set<std::string> nodes_; // that have keys, as far as we know
    std::unique_ptr<KeyService> service_;
    std::unique_ptr<Connector> queue_manager_;
};

} // namespace fleet
