// Which domain signs a message and how the fields are made: the rules of [dkim], the keys that master passed down,
// and what the envelope records about where the message came from. One per configuration; immutable, and kept alive
// by its users. Knows no files and nothing about delivery.
#pragma once
#include "daemons/common/config/sections/server/listener.h"
#include "daemons/common/crypto/dkim/signing_key.h"
#include "daemons/common/logging/log.h"
#include "daemons/common/net/network.h"
#include "daemons/common/proto/secrets.h"
#include "daemons/decide/message/signing.h"
#include "libspool/format/envelope.h"
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace smtp_client {

class Signing {
public:
    // `listeners`: which of them are for submission. A key that is missing or unusable is logged, and signs nothing.
    Signing(std::vector<decide::SigningRule> rules, std::vector<common::Network> relay_networks,
            const std::vector<config::Listener>& listeners, const proto::secrets::Client& secrets, common::Log& log);

    bool any() const { return !rules_.empty(); }
    // The rule that signs; null: none. `header`: of the message, as it leaves.
    const decide::SigningRule* rule_for(const spool::Envelope& envelope, std::string_view header) const;
    // The DKIM-Signature fields, to be put before the header; "" if this cannot be signed, with the reason in `why`.
    // `body_hash`: SHA-256 of the relaxed body.
    std::string fields(const decide::SigningRule& rule, std::string_view header, std::string_view body_hash,
                       smtp::WallTime now, std::string& why) const;

private:
    decide::MailOrigin came(const spool::Envelope& envelope) const;

    std::vector<decide::SigningRule> rules_;
    std::vector<common::Network> relay_networks_;
    std::set<std::string, std::less<>> submission_;             // listeners
    std::map<std::string, dkim::SigningKey, std::less<>> keys_; // by file
};

} // namespace smtp_client
