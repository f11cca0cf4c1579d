// What one configuration says to the sessions of one listener. Shared by them, so that a reload does not pull
// it from under a conversation. A value; knows no sockets.
#pragma once
#include "daemons/common/config/config.h"
#include "libsmtp/server_session.h"
#include <memory>

namespace smtpd {

struct Rules {
    std::shared_ptr<const config::Config> config;
    config::Listener listener;
    smtp::ServerSettings normal, stressed; // stressed: when sessions run short
    std::string busy;                      // "421 4.3.2 …" with CRLF, for who cannot be let in
};

std::shared_ptr<const Rules> make_rules(std::shared_ptr<const config::Config> config,
                                        const config::Listener& listener);

} // namespace smtpd
