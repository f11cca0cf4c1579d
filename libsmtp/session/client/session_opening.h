// The beginning of a client's conversation: greeting, EHLO, TLS and AUTH, up to where mail may be sent. Sends its
// commands; knows no transaction. TLS itself is the driver's: what the server offered in plain text is forgotten
// once TLS is up (RFC 3207, 4.2).
#pragma once
#include "libsmtp/session/client/auth_exchange.h"
#include "libsmtp/session/client/client_event.h"
#include "libsmtp/session/client/client_options.h"
#include "libsmtp/session/client/command_stream.h"
#include "libsmtp/session/client/extensions.h"
#include "libsmtp/session/client/verdicts.h"
#include <expected>
#include <optional>
#include <string>
#include <string_view>

namespace smtp {

class SessionOpening {
public:
    // All must outlive it. The greeting is awaited; if TLS is wrapped, after the event StartTls.
    SessionOpening(const ClientOptions& options, CommandStream& commands, EventQueue& events);
    SessionOpening(const SessionOpening&) = delete;
    SessionOpening& operator=(const SessionOpening&) = delete;

    // The reply to what was sent last. done: mail may be sent. A verdict ends the conversation, with QUIT.
    enum class Progress : std::uint8_t { continues, done };
    using Step = std::expected<Progress, Verdict>;
    Step take(Awaited what, const Reply& reply);

    // The driver's answers to StartTls and AuthRequested; each only if it was asked.
    void tls_up(ChannelSecurity security);
    void authenticate(SaslClient client);
    Verdict auth_failed(std::string_view status, std::string_view why);

    bool handshaking() const { return handshaking_; }
    bool auth_requested() const { return auth_requested_; }
    ChannelSecurity security() const { return security_; }
    const ServerExtensions& extensions() const { return extensions_; }
    const std::string& server_name() const { return server_name_; }
    // A reply's verdict, without a text that repeats what proves who we are.
    Verdict verdict_of(Stage stage, const Reply& reply) const;

private:
    Step take_banner(const Reply& reply);
    Step take_hello(const Reply& reply, Awaited which);
    Step take_starttls(const Reply& reply);
    Step take_auth(const Reply& reply);
    void send_ehlo();
    Step greeted();

    const ClientOptions& options_;
    CommandStream& commands_;
    EventQueue& events_;
    ServerExtensions extensions_;
    std::string server_name_;
    ChannelSecurity security_ = ChannelSecurity::plain;
    bool handshaking_ = false;         // TLS: the driver was asked, and has not answered
    bool auth_requested_ = false;      // … and for an account
    std::optional<AuthExchange> auth_; // until the server has accepted it
};

} // namespace smtp
