// Sends messages to the API of one other node: POST /v1/transfer, whose body is four bytes with the length of the
// envelope (little-endian), the envelope as the spool encodes it, and the content (libspool/FORMAT.md, "Messages of
// other nodes"). Knows the node's address, token and authorities; must not know which messages are sent, or why.
#pragma once
#include "daemons/common/config/sections/system/node.h"
#include "daemons/common/net/https.h"
#include "daemons/common/net/web_address.h"
#include "daemons/common/proto/secrets.h"
#include <functional>
#include <memory>
#include <string>

namespace transfer {

class NodeClient {
public:
    struct Settings {
        config::Node node;
        proto::secrets::NodeAccess access;
        bool operator==(const Settings&) const = default;
    };
    NodeClient(common::Loop& loop, Settings settings);
    NodeClient(const NodeClient&) = delete;

    const Settings& settings() const { return settings_; }
    // `done` is called once, later, unless the exchange is destroyed before.
    [[nodiscard]] std::unique_ptr<common::Https::Exchange> send(std::string body, common::Https::Done done);

private:
    const Settings settings_;
    const common::WebAddress address_;
    common::Https https_;
};

} // namespace transfer
