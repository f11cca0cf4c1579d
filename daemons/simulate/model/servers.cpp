#include "daemons/simulate/model/servers.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace postrider::simulate {

using namespace std::chrono_literals;
using smtp::Stage;

namespace {

constexpr smtp::Duration refusal = 1ms;

bool at_connecting(const Trouble& trouble) {
    return trouble.how == Ailment::refuses || trouble.at <= Stage::ehlo;
}

std::string to_text(const Server& server) { return fmt::format("{}:{}", server.name, server.port); }

Answer said(const Server& server, smtp::Duration takes, Stage stage, const Reply& reply) {
    Answer out{takes, false, stage, reply.code, {}, reply.code == 421 || stage <= Stage::ehlo};
    out.reason = {
        reply.status.empty() ? fmt::format("{}.0.0", reply.code / 100) : reply.status,
        fmt::format("host {} said: {} (in reply to {})", server.name, reply.line(), smtp::command_of(stage)),
        reply.line(), server.name};
    return out;
}

} // namespace

Server& Servers::at(const decide::Host& host) {
    const auto [at, is_new] = servers_.try_emplace({host.name, host.port});
    if (is_new) at->second = {host.name, host.port, &scenario_.host(host.name, host.port)};
    return at->second;
}

bool Servers::used(const HostName& name) const {
    return std::ranges::any_of(
        servers_, [&](const auto& each) { return name.covers(each.first.first, each.first.second); });
}

smtp::Duration Servers::about(smtp::Duration usual) const {
    return smtp::Duration(
        std::llround(static_cast<double>(usual.count()) * (0.8 + 0.4 * random_.fraction())));
}

template <class Suits>
const Trouble* Servers::trouble_of(const Server& server, smtp::Duration now, Suits suits) {
    for (const auto& trouble : scenario_.troubles)
        if (now >= trouble.from && now < trouble.until() && suits(trouble) &&
            trouble.concerns(server.name, server.port) &&
            (trouble.share >= 1 || random_.fraction() < trouble.share))
            return &trouble;
    return nullptr;
}

bool Servers::cuts(const Trouble& trouble) {
    return trouble.share >= 1 && (trouble.how == Ailment::refuses ||
                                  (trouble.how == Ailment::silent && trouble.at == Stage::connect));
}

// How long we wait for it there.
smtp::Duration Servers::patience(Stage stage) const {
    switch (stage) {
    case Stage::connect: return client_.connect_timeout;
    case Stage::banner: return client_.greeting_timeout;
    case Stage::data: return client_.data_timeout;
    case Stage::final_dot: return client_.final_dot_timeout;
    default: return client_.command_timeout;
    }
}

Answer Servers::with(const Trouble& trouble, const Server& server, smtp::Duration takes) const {
    const auto command = smtp::command_of(trouble.at);
    Answer out{takes, false, trouble.at, 0, {"4.4.2", "", "", ""}, true};
    switch (trouble.how) {
    case Ailment::replies: return said(server, takes, trouble.at, trouble.reply);
    case Ailment::refuses:
        out.takes = refusal;
        out.stage = Stage::connect;
        out.reason = {"4.4.1", fmt::format("connect to {}: Connection refused", to_text(server)), "", ""};
        break;
    case Ailment::silent:
        out.takes = takes + patience(trouble.at);
        if (trouble.at == Stage::connect)
            out.reason = {"4.4.1", fmt::format("connect to {}: Connection timed out", to_text(server)), "",
                          ""};
        else
            out.reason.text =
                fmt::format("conversation with {} timed out: no answer to {}", server.name, command);
        break;
    default: out.reason.text = fmt::format("lost connection with {}: no answer to {}", server.name, command);
    }
    return out;
}

Answer Servers::greet(Server& server, smtp::Duration now) {
    const auto* trouble = trouble_of(server, now, [](const Trouble& each) {
        return !of_names(each.how) && each.how != Ailment::slow && at_connecting(each);
    });
    if (trouble)
        return with(*trouble, server, trouble->at > Stage::connect ? about(server.manner->connect) : 0s);
    if (server.manner->connections > 0 && server.open >= server.manner->connections)
        return said(server, about(server.manner->connect), Stage::banner,
                    {421, "4.7.0", "too many connections"});
    ++server.open;
    return {about(server.manner->connect)};
}

// By the server's own clock: so many within each minute, each hour.
bool Servers::over_rate(Server& server, smtp::Duration now) const {
    const auto count = [&](std::int64_t& current, std::uint32_t& messages, std::int64_t part) {
        if (std::exchange(current, part) != part) messages = 0;
        return ++messages;
    };
    const auto minute = count(server.minute, server.this_minute, now / smtp::Duration(1min));
    const auto hour = count(server.hour, server.this_hour, now / smtp::Duration(1h));
    const auto over = [](std::uint32_t messages, std::uint32_t most) { return most > 0 && messages > most; };
    return over(minute, server.manner->messages_per_minute) || over(hour, server.manner->messages_per_hour);
}

Answer Servers::take(Server& server, Acquaintance& recipient, smtp::Duration now) {
    const Host& manner = *server.manner;
    if (recipient.first_try < 0s) {
        recipient.first_try = now;
        recipient.unknown = manner.unknown > 0 && random_.fraction() < manner.unknown;
    }
    const auto* slow = trouble_of(server, now, [](const Trouble& each) { return each.how == Ailment::slow; });
    const auto takes = about(slow ? slow->transaction : manner.transaction);
    const auto* trouble = trouble_of(server, now, [](const Trouble& each) {
        return !of_names(each.how) && each.how != Ailment::slow && !at_connecting(each);
    });
    const auto due = [&](Stage stage) { return trouble && trouble->at == stage; };
    if (due(Stage::mail)) return with(*trouble, server, takes);
    if (over_rate(server, now)) return said(server, takes, Stage::mail, manner.over_rate);
    if (due(Stage::rcpt)) return with(*trouble, server, takes);
    if (recipient.unknown) return said(server, takes, Stage::rcpt, {550, "5.1.1", "no such user"});
    if (now - recipient.first_try < manner.greylist)
        return said(server, takes, Stage::rcpt, {450, "4.7.1", "greylisted, come back later"});
    if (trouble) return with(*trouble, server, takes);
    return {takes};
}

} // namespace postrider::simulate
