#include "libsmtp/session/server_client.h"

namespace smtp {

std::string_view ServerClient::protocol(bool utf8) const {
    if (utf8) {
        if (authenticated) return tls ? "UTF8SMTPSA" : "UTF8SMTPA";
        return tls ? "UTF8SMTPS" : "UTF8SMTP";
    }
    if (greeting != Greeting::ehlo) return "SMTP";
    if (authenticated) return tls ? "ESMTPSA" : "ESMTPA";
    return tls ? "ESMTPS" : "ESMTP";
}

ServerClient described_client(const ClientAttributes& attributes, bool tls) {
    const auto text_of = [](const ClientAttributes::Attribute& a) { return a ? a->value : std::string(); };
    auto helo = text_of(attributes.helo);
    const auto greeting = helo.empty()                             ? Greeting::none
                          : text_of(attributes.protocol) == "SMTP" ? Greeting::helo
                                                                   : Greeting::ehlo;
    return {greeting, std::move(helo), tls, !text_of(attributes.login).empty(), true};
}

} // namespace smtp
