#include "daemons/simulate/model/servers.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace postrider::simulate {

using namespace std::chrono_literals;
using smtp::Stage;

namespace {

constexpr smtp::Duration refusal = 1ms;

bool affects_connecting(const Fault& fault) { return fault.kind == FaultKind::refuses || fault.at <= Stage::ehlo; }

std::string to_text(const Server& server) { return fmt::format("{}:{}", server.name, server.port); }

Answer reply_answer(const Server& server, smtp::Duration takes, Stage stage, const Reply& reply) {
    Answer out{takes, false, stage, reply.code, {}, reply.code == 421 || stage <= Stage::ehlo};
    out.reason = {reply.status.empty() ? fmt::format("{}.0.0", reply.code / 100) : reply.status,
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
    return std::ranges::any_of(servers_,
                               [&](const auto& each) { return name.covers(each.first.first, each.first.second); });
}

smtp::Duration Servers::with_jitter(smtp::Duration usual) const {
    return smtp::Duration(std::llround(static_cast<double>(usual.count()) * (0.8 + 0.4 * random_.fraction())));
}

template <class Suits> const Fault* Servers::find_fault(const Server& server, smtp::Duration now, Suits suits) {
    for (const auto& fault : scenario_.faults)
        if (now >= fault.from && now < fault.until() && suits(fault) && fault.applies_to(server.name, server.port) &&
            (fault.share >= 1 || random_.fraction() < fault.share))
            return &fault;
    return nullptr;
}

bool Servers::cuts_connections(const Fault& fault) {
    return fault.share >= 1 &&
           (fault.kind == FaultKind::refuses || (fault.kind == FaultKind::silent && fault.at == Stage::connect));
}

// How long we wait at this stage.
smtp::Duration Servers::timeout(Stage stage) const {
    switch (stage) {
    case Stage::connect: return client_.connect_timeout;
    case Stage::banner: return client_.greeting_timeout;
    case Stage::data: return client_.data_timeout;
    case Stage::final_dot: return client_.final_dot_timeout;
    default: return client_.command_timeout;
    }
}

Answer Servers::fault_answer(const Fault& fault, const Server& server, smtp::Duration takes) const {
    const auto command = smtp::command_of(fault.at);
    Answer out{takes, false, fault.at, 0, {"4.4.2", "", "", ""}, true};
    switch (fault.kind) {
    case FaultKind::replies: return reply_answer(server, takes, fault.at, fault.reply);
    case FaultKind::refuses:
        out.takes = refusal;
        out.stage = Stage::connect;
        out.reason = {"4.4.1", fmt::format("connect to {}: Connection refused", to_text(server)), "", ""};
        break;
    case FaultKind::silent:
        out.takes = takes + timeout(fault.at);
        if (fault.at == Stage::connect)
            out.reason = {"4.4.1", fmt::format("connect to {}: Connection timed out", to_text(server)), "", ""};
        else
            out.reason.text = fmt::format("conversation with {} timed out: no answer to {}", server.name, command);
        break;
    default: out.reason.text = fmt::format("lost connection with {}: no answer to {}", server.name, command);
    }
    return out;
}

Answer Servers::greet(Server& server, smtp::Duration now) {
    const auto* fault = find_fault(server, now, [](const Fault& each) {
        return !is_dns_fault(each.kind) && each.kind != FaultKind::slow && affects_connecting(each);
    });
    if (fault)
        return fault_answer(*fault, server, fault->at > Stage::connect ? with_jitter(server.behaviour->connect) : 0s);
    if (server.behaviour->connections > 0 && server.open >= server.behaviour->connections)
        return reply_answer(server, with_jitter(server.behaviour->connect), Stage::banner,
                            {421, "4.7.0", "too many connections"});
    ++server.open;
    return {with_jitter(server.behaviour->connect)};
}

// By the server's own clock: this many in each minute, each hour.
bool Servers::over_rate(Server& server, smtp::Duration now) const {
    const auto count = [&](std::int64_t& current, std::uint32_t& messages, std::int64_t part) {
        if (std::exchange(current, part) != part) messages = 0;
        return ++messages;
    };
    const auto minute = count(server.minute, server.this_minute, now / smtp::Duration(1min));
    const auto hour = count(server.hour, server.this_hour, now / smtp::Duration(1h));
    const auto over = [](std::uint32_t messages, std::uint32_t most) { return most > 0 && messages > most; };
    return over(minute, server.behaviour->messages_per_minute) || over(hour, server.behaviour->messages_per_hour);
}

Answer Servers::take(Server& server, RemoteRecipient& recipient, smtp::Duration now) {
    const Host& behaviour = *server.behaviour;
    if (recipient.first_try < 0s) {
        recipient.first_try = now;
        recipient.unknown = behaviour.unknown > 0 && random_.fraction() < behaviour.unknown;
    }
    const auto* slow = find_fault(server, now, [](const Fault& each) { return each.kind == FaultKind::slow; });
    const auto takes = with_jitter(slow ? slow->transaction : behaviour.transaction);
    const auto* fault = find_fault(server, now, [](const Fault& each) {
        return !is_dns_fault(each.kind) && each.kind != FaultKind::slow && !affects_connecting(each);
    });
    const auto due = [&](Stage stage) { return fault && fault->at == stage; };
    if (due(Stage::mail)) return fault_answer(*fault, server, takes);
    if (over_rate(server, now)) return reply_answer(server, takes, Stage::mail, behaviour.over_rate);
    if (due(Stage::rcpt)) return fault_answer(*fault, server, takes);
    if (recipient.unknown) return reply_answer(server, takes, Stage::rcpt, {550, "5.1.1", "no such user"});
    if (now - recipient.first_try < behaviour.greylist)
        return reply_answer(server, takes, Stage::rcpt, {450, "4.7.1", "greylisted, come back later"});
    if (fault) return fault_answer(*fault, server, takes);
    return {takes};
}

} // namespace postrider::simulate
