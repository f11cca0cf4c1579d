// What the connections of this process share: the loop, the log, the settings, the resolver, the open messages, and
// what is remembered about servers. Knows no connection.
#pragma once
#include "daemons/common/config/sections/delivery/pools.h"
#include "daemons/common/config/sections/delivery/smtp_client.h"
#include "daemons/common/config/sections/server/listener.h"
#include "daemons/common/config/sections/system/testing.h"
#include "daemons/common/crypto/tls/session.h"
#include "daemons/common/delivery/message_cache.h"
#include "daemons/common/filters/content_checks.h"
#include "daemons/common/logging/log.h"
#include "daemons/common/logging/metrics/metrics.h"
#include "daemons/common/lookup/format/reply_rules.h"
#include "daemons/common/net/dns/resolver.h"
#include "daemons/common/runtime/timer.h"
#include "daemons/decide/routing/routing.h"
#include "daemons/decide/tls/tls_outcome.h"
#include "daemons/smtp-client/auth/authenticator.h"
#include "daemons/smtp-client/context/peer_history.h"
#include "daemons/smtp-client/message/generic_maps.h"
#include "daemons/smtp-client/message/signing.h"
#include "daemons/smtp-client/tls/resumptions.h"
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>

namespace smtp_client {

// Outlives them.
struct ClientContext {
    common::Loop& loop;
    common::Log& log;
    common::Deadlines& deadlines;
    common::MessageCache messages;
    std::uint32_t instance;
    config::SmtpClient settings;
    std::shared_ptr<dns::Resolver> resolver;
    PeerHistory peer_history = {};
    std::mt19937 random;
    std::uint64_t sessions = 0;
    std::optional<smtp::Monotonic> last_shortage_log = {}; // when this was last logged
    std::optional<decide::RouteTable> tls_routes = {};     // if any have a TLS level of their own
    std::shared_ptr<const tls::Context> tls = nullptr;     // null: TLS is not available; the reason was logged
    // For mail of routes that have certificates of their own, by pattern.
    std::map<std::string, std::shared_ptr<const tls::Context>, std::less<>> tls_of_routes = {};
    ResumptionCache resumptions = {};
    AuthContext auth = AuthContext({}, [](std::string_view) {}); // no authentication

    // Receives the outcome of every attempt to use TLS with a host; empty: not wanted.
    std::function<void(const decide::TlsOutcome&)> tls_outcome = {};
    std::string tls_reports_from = {};                                     // sender of reports
    std::shared_ptr<const Signing> signing = nullptr;                      // null: nothing is signed
    std::unique_ptr<GenericMaps> generic = nullptr;                        // null: no address has been rewritten so far
    std::shared_ptr<const common::ContentRules> outgoing_rules = nullptr;  // null: none
    std::shared_ptr<const common::ReplyPatterns> reply_patterns = nullptr; // null: none
    common::Metrics* metrics = nullptr;                                    // null: not collected

    bool soft_bounce = false;                       // of [bounce]
    bool keeps_dialogue = false;                    // of failed attempts, for the journal
    std::vector<config::ConnectTo> connect_to = {}; // of [testing]
    std::vector<config::Listener> listeners = {};   // of this system: nothing is sent there
    std::map<std::string, std::shared_ptr<const config::Pool>, std::less<>> pools = {}; // of source addresses

    // For mail of the route with that pattern; "": of none.
    const std::shared_ptr<const tls::Context>& tls_of(std::string_view pattern) const {
        const auto found = tls_of_routes.find(pattern);
        return found == tls_of_routes.end() ? tls : found->second;
    }
    // Has it been made with what is configured now?
    bool is_current(const tls::Session& session) const {
        return session.is_of(tls.get()) ||
               std::ranges::any_of(tls_of_routes, [&](const auto& each) { return session.is_of(each.second.get()); });
    }

    // Null: there is none of that name.
    std::shared_ptr<const config::Pool> pool(const std::string& name) const {
        const auto found = pools.find(name);
        return found == pools.end() ? nullptr : found->second;
    }

    // A shortage on this host is no delivery's failure: what waits keeps waiting. Logged once in a while.
    void log_shortage(const spool::Error& error) {
        messages.forget_last(); // and with it the files that are kept open
        const auto now = common::Loop::now().monotonic;
        if (last_shortage_log && now - *last_shortage_log < std::chrono::seconds(30)) return;
        last_shortage_log = now;
        log.warning("{}: deliveries wait until this host has enough resources", error.what);
    }
    // A number for logs, unlike that of any other session of this host's workers.
    std::uint64_t next_session() { return ++sessions * 256 + instance; }
};

} // namespace smtp_client
