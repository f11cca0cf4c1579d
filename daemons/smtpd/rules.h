// What one configuration says to the sessions of one listener. Shared by them, so that a reload does not pull
// it from under a conversation. A value; knows no sockets.
#pragma once
#include "daemons/common/auth/password_file.h"
#include "daemons/common/config/config.h"
#include "daemons/common/tls/context.h"
#include "libsmtp/server_session.h"
#include <memory>

namespace smtpd {

struct Rules {
    std::shared_ptr<const config::Config> config;
    config::Listener listener;
    smtp::ServerSettings normal, stressed;               // stressed: when sessions run short
    std::shared_ptr<const tls::Context> tls;             // null: this listener has none
    std::shared_ptr<const auth::PasswordFile> passwords; // never null
    std::string pepper;
    std::string busy; // "421 4.3.2 …" with CRLF, for who cannot be let in
};

// What master alone could read, for the sessions of one listener.
struct Credentials {
    std::shared_ptr<const tls::Context> tls; // null where it is not to be offered
    std::shared_ptr<const auth::PasswordFile> passwords = std::make_shared<auth::PasswordFile>();
    std::string pepper;
};
std::shared_ptr<const Rules> make_rules(std::shared_ptr<const config::Config> config,
                                        const config::Listener& listener, Credentials credentials = {});
// The TLS of a listener; null if it wants none.
spool::Result<std::shared_ptr<const tls::Context>> make_tls(const config::Config& config,
                                                            const config::Listener& listener,
                                                            const proto::secrets::Secrets& secrets);

} // namespace smtpd
