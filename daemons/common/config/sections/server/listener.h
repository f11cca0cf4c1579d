// One [listen.<name>]: its addresses, TLS, limits and permissions. Values.
#pragma once
#include "daemons/common/config/sections/server/idempotency.h"
#include "daemons/common/net/network.h"
#include <cstdint>
#include <string>
#include <vector>

namespace config {

enum class Service {
    relay,
    submission,
    filtered, // takes mail back from a content filter
};

enum class ListenerTls {
    by_service, // in a file without the key: offer where there is a certificate, require on submission
    no,
    offer,    // STARTTLS
    require,  // STARTTLS before anything else
    implicit, // from the first byte
};

// Limits for one client network (an IPv4 address or an IPv6 /64) or one authenticated user; each process counts
// separately. 0: no limit.
struct ClientLimits {
    std::uint32_t sessions_per_network = 500;      // at a time; never 0
    std::uint32_t connections_per_minute = 0;      // new ones, from one network
    std::uint32_t messages_per_minute = 0;         // from one network that may not relay
    std::uint32_t recipients_per_minute = 0;       // the same
    std::uint32_t user_connections_per_minute = 0; // in which one user authenticates
    std::uint32_t user_messages_per_hour = 0;
    std::uint32_t user_recipients_per_hour = 0;
};

enum class Vrfy {
    off,          // 502, and not offered
    noncommittal, // 252, for every address
    verify,       // as RCPT would answer
};

struct Listener {
    // Of clients: relay.networks, or those of its own.
    bool names_its_clients() const { return service != Service::relay; }

    std::string name; // of [listen.<name>]
    std::vector<common::Endpoint> addresses;
    Service service = Service::relay;
    ListenerTls tls = ListenerTls::by_service;
    bool client_certificates = false;               // clients are asked for one
    bool certificate_required = false;              // they may do nothing without one that is verified or listed
    bool auth = false;                              // never by default on relay; on submission where [auth] can decide
    bool auth_without_tls = false;                  // passwords in plain text
    std::vector<common::Network> submitters;        // submission, filtered: may send without AUTH
    std::vector<common::Network> proxy_networks;    // if not empty: connections only from these, with a PROXY header
    std::vector<common::Network> xclient_networks;  // may override the client's identity
    std::vector<common::Network> xforward_networks; // may report where mail came from before
    std::uint64_t message_size = 0;                 // 0 in a file: [smtpd]'s
    std::uint32_t recipients = 0;                   // 0 in a file: [smtpd]'s
    std::uint32_t sessions = 0;                     // 0 in a file: [smtpd]'s
    ClientLimits limits;                            // those not in a file: [smtpd]'s
    std::string content_filter;                     // next hop of all mail from here, which comes back; "" none
    bool smtputf8 = true;                           // RFC 6531
    Vrfy vrfy = Vrfy::noncommittal;
    IdempotencyMatch idempotency_match = IdempotencyMatch::key; // not in a file: [idempotency]'s
    std::vector<common::Network> etrn_networks; // RFC 1985: may use it; offered if there are any, or with etrn_users
    bool etrn_users = false;                    // authenticated clients may use it, too
};

} // namespace config
