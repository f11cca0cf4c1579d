// What the connections of this process share: the loop, the log, the settings, the resolver, and what is
// remembered of servers. Knows no connection.
#pragma once
#include "daemons/common/config/config.h"
#include "daemons/common/dns/resolver.h"
#include "daemons/common/log.h"
#include "daemons/common/timer.h"
#include "daemons/decide/routing.h"
#include "daemons/smtp-client/peers.h"
#include "daemons/smtp-client/resumptions.h"
#include "libspool/disk.h"
#include <functional>
#include <memory>
#include <optional>
#include <random>

namespace smtp_client {

// Outlives them.
struct Office {
    common::Loop& loop;
    common::Log& log;
    common::Deadlines& deadlines;
    spool::Disk& disk;
    std::uint32_t instance;
    config::SmtpClient settings;
    std::shared_ptr<dns::Resolver> resolver;
    Peers peers = {};
    std::mt19937 random;
    std::uint64_t sessions = 0;
    std::optional<smtp::Monotonic> starved = {}; // when the log last said so
    std::optional<decide::RouteTable> tls_routes = {}; // if there are any with a TLS level of their own
    std::shared_ptr<const tls::Context> tls = nullptr; // null: TLS cannot be had, and the log said why
    Resumptions resumptions = {};
    // Told what came of every try to have TLS with a host (RFC 8460). May be empty.
    std::function<void(const decide::TlsOutcome&)> tls_outcome = {};

    std::vector<config::ConnectTo> connect_to = {}; // of [testing]

    // This host's shortage is nobody's failure: what waits, waits. Said once in a while.
    void say_starved(const spool::Error& error) {
        const auto now = common::Loop::now().monotonic;
        if (starved && now - *starved < std::chrono::seconds(30)) return;
        starved = now;
        log.warning("{}: deliveries wait until this host has what they need", error.what);
    }
    // A number for logs, unlike that of any other session of this host's workers.
    std::uint64_t next_session() { return ++sessions * 256 + instance; }
};

} // namespace smtp_client
