// The keys of the API.
#include "daemons/common/config/schema/value_types.h"
#include "daemons/common/config/sections/key_tables.h"
#include "daemons/common/config/sections/system/http.h"

namespace config {

using namespace std::chrono_literals;

Section section_for(Http& s) {
    return {
        "http",
        "The API over HTTP, for applications that submit, follow and cancel mail: a process of its own, which mail "
        "does not depend on; see postrider-http(8). \"postrider token add\" makes the tokens that clients need.",
        {
            {"enabled", BoolKey{&s.enabled},
             "Whether the API is served on the socket run/http.sock in the spool directory. Root and members of "
             "mta.admin_group need no token there. With an address in listen, it is served on the socket, too.",
             ""},
            {"listen", endpoints(s.listen, 9587),
             "Addresses where the API is served as well. Other addresses than those of loopback need a certificate, or "
             "insecure = true. The default port is 9587.",
             "[\"127.0.0.1:9587\"]"},
            {"certificate", any_text(s.certificate),
             "File with a certificate and its chain (PEM): all addresses in listen speak HTTPS then, and no plain "
             "text. tls.minimum_version applies. Read before privileges are dropped, at reload, and within a minute "
             "when the file changes; existing connections keep the previous one.",
             ""},
            {"key", any_text(s.key),
             "File with the certificate's private key (PEM). If empty, it is in the file of the certificate.", ""},
            {"insecure", BoolKey{&s.insecure},
             "Whether addresses other than those of loopback are allowed in listen without a certificate: mail and "
             "tokens pass in plain text. Only for a private network, or behind a proxy that adds TLS.",
             ""},
            {"content", BoolKey{&s.content},
             "Whether the content of queued mail, and of failed mail that is kept, can be read through the API, with "
             "the scope read:content. While it is false, the http process cannot read mail even if an attacker "
             "controls it.",
             ""},
            {"names", non_empty_texts(s.names),
             "Names that clients may use for this server, in the header field Host. mta.hostname, localhost and the "
             "addresses in listen are always allowed. Requests with other names are rejected: a web page cannot use a "
             "name of its own to reach the API through a browser.",
             "[\"api.example.org\"]"},
            {"connections", IntKey{&s.connections, 1, 10'000},
             "Maximum number of connections on each address and on the socket.", ""},
            {"connections_per_address", IntKey{&s.connections_per_address, 0, 10'000},
             "Maximum number of connections of one client address, or of one IPv6 network of 64 bits. Further ones are "
             "closed. Clients on loopback have no such limit. 0 disables it.",
             ""},
            {"followers", IntKey{&s.followers, 0, 10'000},
             "Maximum number of clients that follow events. Further ones get status 503.", ""},
            {"memory", SizeKey{&s.memory, 1 * MiB, 64 * GiB},
             "Maximum size of all requests that are being received or submitted. Further ones get status 503. One "
             "message is limited by submit.message_size.",
             ""},
            {"failures_per_network", IntKey{&s.failures_per_network, 0, 1'000'000},
             "Number of invalid tokens from one client network (an IPv4 /24, an IPv6 /64) per failure_window, after "
             "which no token from there is accepted: status 429. Loopback is never locked out. \"postrider reload\" "
             "lifts all lockouts. 0 disables this.",
             ""},
            {"failure_window", DurationKey{&s.failure_window, 1s, 24h},
             "Period over which invalid tokens are counted, and maximum duration of a lockout.", ""},
            {"lockout_exempt", networks(s.lockout_exempt),
             "Further networks that are never locked out: those of a proxy, or of an office behind one address.", ""},
        }};
}

} // namespace config
