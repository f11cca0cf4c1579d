// Completes each [listen.NAME] from other sections, as TLS by its service and limits of [smtpd], and checks it against
// them. A part of validate.h.
#pragma once
#include "daemons/common/config/sections/server/auth.h"
#include "daemons/common/config/sections/server/idempotency.h"
#include "daemons/common/config/sections/server/listener.h"
#include "daemons/common/config/sections/server/relay.h"
#include "daemons/common/config/sections/server/smtpd.h"
#include "daemons/common/config/sections/server/tls.h"
#include <string>
#include <vector>

namespace config {

class TomlReader;

class ListenerSettlement {
public:
    struct Sections { // that listeners depend on
        const Tls& tls;
        const Auth& auth;
        const Relay& relay;
        const Smtpd& smtpd;
        const Idempotency& idempotency;
    };
    // What contradicts itself becomes a problem of `toml`.
    ListenerSettlement(const Sections& sections, TomlReader& toml) : config_(sections), toml_(toml) {}
    void settle(std::vector<Listener>& listeners);

private:
    void settle_tls(Listener& listener, const std::string& path);
    void settle_auth(Listener& listener, const std::string& path);
    void settle_limits(Listener& listener, const std::string& path);
    void check_client_certificates(const Listener& listener, const std::string& path);

    const Sections config_;
    TomlReader& toml_;
};

} // namespace config
