// What one configuration says to the sessions of one listener. Shared by them, so that a reload does not pull
// it from under a conversation. A value; knows no sockets.
#pragma once
#include "daemons/common/crypto/auth/password_file.h"
#include "daemons/common/crypto/tls/context.h"
#include "daemons/smtpd/access/client_limits.h"
#include "daemons/smtpd/policy/settings.h"
#include "libsmtp/session/server_session.h"
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace smtpd {

struct Rules {
    std::shared_ptr<const Settings> config; // never null
    config::Listener listener;
    smtp::ServerSettings normal, stressed;               // stressed: when sessions run short
    std::shared_ptr<const tls::Context> tls;             // null: this listener has none
    std::shared_ptr<const auth::PasswordFile> passwords; // never null
    std::string pepper;
    std::vector<config::DnsList> dns_lists;               // those of this listener
    std::optional<decide::screening::Settings> screening; // its clients are tested before their session
    smtp::Reply busy_reply;                               // 421, for who cannot be let in
    smtp::Reply too_many_sessions_reply;                  // 421, for whose network has all the sessions it may have
    smtp::Reply too_many_connections_reply; // 421, for whose network had all the new ones it may have in a minute

    const smtp::Reply& rejection_reply(ClientLimits::Admission admission) const {
        return admission == ClientLimits::Admission::too_many_sessions ? too_many_sessions_reply
                                                                       : too_many_connections_reply;
    }
    // The same for the log, in Postfix's words: "Connection concurrency limit exceeded: 51 from … for service …".
    std::string limit_exceeded_text(ClientLimits::Admission admission, std::string_view peer) const;
};

// What master alone could read, for the sessions of one listener.
struct Credentials {
    std::shared_ptr<const tls::Context> tls; // null where it is not to be offered
    std::shared_ptr<const auth::PasswordFile> passwords = std::make_shared<auth::PasswordFile>();
    std::string pepper;
};
std::shared_ptr<const Rules> make_rules(std::shared_ptr<const Settings> settings, const config::Listener& listener,
                                        Credentials credentials = {});
// The TLS of a listener; null if it wants none.
spool::Result<std::shared_ptr<const tls::Context>> make_tls(const Settings& settings, const config::Listener& listener,
                                                            const proto::secrets::Server& secrets);

} // namespace smtpd
