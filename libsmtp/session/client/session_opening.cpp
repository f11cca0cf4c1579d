#include "libsmtp/session/client/session_opening.h"
#include "libsmtp/text/text.h"
#include <algorithm>
#include <cassert>
#include <fmt/format.h>
#include <utility>

namespace smtp {

using StartTls = ClientOptions::StartTls;

SessionOpening::SessionOpening(const ClientOptions& options, CommandStream& commands, EventQueue& events)
    : options_(options), commands_(commands), events_(events) {
    commands_.expect(Awaited::banner);
    if (options_.tls != StartTls::wrapped) return;
    handshaking_ = true;
    events_.push(client_event::StartTls{});
}

SessionOpening::Step SessionOpening::take(Awaited what, const Reply& reply) {
    switch (what) {
    case Awaited::banner: return take_banner(reply);
    case Awaited::ehlo:
    case Awaited::helo: return take_hello(reply, what);
    case Awaited::starttls: return take_starttls(reply);
    case Awaited::auth: return take_auth(reply);
    default: break;
    }
    assert(false);
    return Progress::continues;
}

SessionOpening::Step SessionOpening::take_banner(const Reply& reply) {
    if (!reply.positive()) return std::unexpected(verdict_of(Stage::banner, reply));
    const auto name = std::string_view(reply.text).substr(0, reply.text.find_first_of(" \n"));
    if (name.size() <= 255 && std::ranges::all_of(name, is_printable)) server_name_ = name;
    send_ehlo();
    return Progress::continues;
}

void SessionOpening::send_ehlo() {
    commands_.put(options_.protocol == Protocol::lmtp ? "LHLO " : "EHLO ");
    commands_.put(options_.name);
    commands_.send("\r\n", Awaited::ehlo);
}

SessionOpening::Step SessionOpening::take_hello(const Reply& reply, Awaited which) {
    const bool secure = security_ != ChannelSecurity::plain;
    if (which == Awaited::ehlo && reply.permanent() && !secure && options_.protocol == Protocol::smtp) {
        commands_.put("HELO ");
        commands_.put(options_.name);
        commands_.send("\r\n", Awaited::helo);
        return Progress::continues;
    }
    if (!reply.positive()) return std::unexpected(verdict_of(Stage::ehlo, reply));
    if (which == Awaited::ehlo) extensions_ = read_extensions(reply.text);
    if (secure || options_.tls == StartTls::never) return greeted();
    if (extensions_.starttls) {
        commands_.send("STARTTLS\r\n", Awaited::starttls);
        return Progress::continues;
    }
    if (options_.tls == StartTls::if_offered) return greeted();
    return std::unexpected(
        deferral(Stage::tls, "4.7.4", fmt::format("TLS is required, but was not offered by host {}", options_.peer)));
}

SessionOpening::Step SessionOpening::take_starttls(const Reply& reply) {
    if (reply.positive()) {
        handshaking_ = true;
        events_.push(client_event::StartTls{});
        return Progress::continues;
    }
    if (options_.tls == StartTls::if_offered) return greeted();
    return std::unexpected(deferral(Stage::tls, "4.7.5", verdict_of(Stage::tls, reply).text));
}

void SessionOpening::tls_up(ChannelSecurity security) {
    assert(handshaking_);
    handshaking_ = false;
    security_ = security;
    extensions_ = {};
    if (options_.tls != StartTls::wrapped) send_ehlo(); // else the greeting comes first
}

SessionOpening::Step SessionOpening::greeted() {
    if (options_.auth.mechanisms.empty()) return Progress::done;
    const auto mechanism = choose_mechanism(options_, extensions_.auth, security_);
    if (!mechanism) return std::unexpected(deferral(Stage::auth, "4.7.4", mechanism.error()));
    auth_requested_ = true;
    events_.push(client_event::AuthRequested{*mechanism});
    return Progress::continues;
}

void SessionOpening::authenticate(SaslClient client) {
    assert(auth_requested_);
    auth_requested_ = false;
    auth_.emplace(std::move(client), options_.peer, commands_);
}

Verdict SessionOpening::auth_failed(std::string_view status, std::string_view why) {
    assert(auth_requested_);
    auth_requested_ = false;
    return deferral(Stage::auth, status, why);
}

SessionOpening::Step SessionOpening::take_auth(const Reply& reply) {
    const auto progress = auth_->take(reply);
    if (!progress) return std::unexpected(progress.error());
    if (*progress == AuthExchange::Progress::continues) return Progress::continues;
    auth_.reset();
    return Progress::done;
}

Verdict SessionOpening::verdict_of(Stage stage, const Reply& reply) const {
    return auth_ ? auth_->verdict_of(stage, reply) : smtp::verdict_of(stage, reply, options_.peer);
}

} // namespace smtp
