// The keys of how mail comes in.
#include "daemons/common/config/schema/value_types.h"
#include "daemons/common/config/sections/key_tables.h"
#include "daemons/common/config/sections/server/auth.h"
#include "daemons/common/config/sections/server/listener.h"
#include "daemons/common/config/sections/server/relay.h"
#include "daemons/common/config/sections/server/smtpd.h"
#include "daemons/common/config/sections/server/submit.h"
#include "daemons/common/config/sections/server/tls.h"
#include "daemons/common/config/sections/system/tls_versions.h"
#include "daemons/common/text/units.h"

namespace config {

namespace {

constexpr EnumValue<Service> services[] = {{"relay", Service::relay}, {"submission", Service::submission}};
constexpr EnumValue<ListenerTls> listener_tls[] = {{"no", ListenerTls::no},
                                              {"offer", ListenerTls::offer},
                                              {"require", ListenerTls::require},
                                              {"implicit", ListenerTls::implicit}};
constexpr EnumValue<Vrfy> vrfy_answers[] = {
    {"off", Vrfy::off}, {"noncommittal", Vrfy::noncommittal}, {"verify", Vrfy::verify}};
constexpr std::string_view sasl_mechanisms[] = {"SCRAM-SHA-256-PLUS", "SCRAM-SHA-256", "PLAIN", "LOGIN"};
constexpr EnumValue<BareNewlines> newlines[] = {{"normalise", BareNewlines::normalise},
                                           {"reject", BareNewlines::reject}};

} // namespace

Section section_for(Listener& s) {
    return {
        "listen.<name>",
        "One section per service that listens, with a name of your choice. Without any, [listen.smtp] on "
        "*:25.",
        {
            {"addresses", endpoints(s.addresses, 0),
             "Addresses and ports to listen on. \"*:25\" is every address, IPv6 and IPv4.", "[\"*:25\"]"},
            {"service", one_of(s.service, services),
             "\"relay\" takes mail from other systems for our domains (port 25); \"submission\" takes mail "
             "from our "
             "own users' programs for anywhere and completes its header (port 587).",
             ""},
            {"tls", one_of(s.tls, listener_tls),
             "\"offer\" STARTTLS, \"require\" it before anything else, \"implicit\" TLS from the first byte "
             "(port 465), or \"no\". By default \"require\" on submission; elsewhere \"offer\" where "
             "tls.certificates names one, else \"no\".",
             "\"no\""},
            {"client_certificates", BoolKey{&s.client_certificates},
             "Ask clients for a certificate; log and message say whether tls.client_authorities vouch for "
             "it.",
             ""},
            {"auth", BoolKey{&s.auth},
             "Let clients authenticate; who has may send to anywhere. By default on submission where [auth] "
             "names who decides.",
             ""},
            {"auth_without_tls", BoolKey{&s.auth_without_tls},
             "Offer that in plain text too: whoever listens on the way reads the passwords.", ""},
            {"submitters", networks(s.submitters),
             "submission: networks that may send without authenticating. Others are asked to (530).", ""},
            {"proxy_networks", networks(s.proxy_networks),
             "Balancers that connect here on behalf of clients: each connection must begin with a header of "
             "the PROXY protocol (version 1 or 2), and what it says counts as the client in every respect. "
             "All other peers are refused (554 5.7.1).",
             "[\"192.0.2.10\"]"},
            {"xclient_networks", networks(s.xclient_networks),
             "Proxies that may say by XCLIENT who the client is and who it has authenticated as; from then on "
             "the session is that client's in every respect. Others get 550 5.7.0.",
             "[\"192.0.2.11\"]"},
            {"xforward_networks", networks(s.xforward_networks),
             "Mail servers that may say by XFORWARD where a message came from before; this is only for the "
             "log. Others get 550 5.7.0.",
             "[\"127.0.0.1\"]"},
            {"message_size", SizeKey{&s.message_size, 1 * KiB, 4 * GiB},
             "As smtpd.message_size, for this listener.", "\"50MiB\""},
            {"recipients", IntKey{&s.recipients, 1, 1'000'000}, "As smtpd.recipients, for this listener.",
             "1000"},
            {"sessions", IntKey{&s.sessions, 1, 1'000'000}, "As smtpd.sessions, for this listener.", "5000"},
            {"sessions_per_network", IntKey{&s.limits.sessions_per_network, 1, 1'000'000},
             "As smtpd.sessions_per_network, for who connects to this listener; so the following.", "500"},
            {"connections_per_minute", IntKey{&s.limits.connections_per_minute, 0, 10'000'000},
             "As in [smtpd].", ""},
            {"messages_per_minute", IntKey{&s.limits.messages_per_minute, 0, 10'000'000}, "As in [smtpd].", ""},
            {"recipients_per_minute", IntKey{&s.limits.recipients_per_minute, 0, 10'000'000}, "As in [smtpd].",
             ""},
            {"user_connections_per_minute", IntKey{&s.limits.user_connections_per_minute, 0, 10'000'000},
             "As in [smtpd].", ""},
            {"user_messages_per_hour", IntKey{&s.limits.user_messages_per_hour, 0, 10'000'000},
             "As in [smtpd].", ""},
            {"user_recipients_per_hour", IntKey{&s.limits.user_recipients_per_hour, 0, 10'000'000},
             "As in [smtpd].", ""},
            {"smtputf8", BoolKey{&s.smtputf8},
             "Take addresses and header fields in UTF-8 (SMTPUTF8). Such mail goes back to its sender where "
             "the "
             "next system does not take it and it has no form in ASCII.",
             ""},
            {"vrfy", one_of(s.vrfy, vrfy_answers),
             "What VRFY says: \"noncommittal\" (252, whoever was asked about), \"verify\" (as RCPT would "
             "answer, so that anybody can find out who is here), or \"off\" (502).",
             ""},
            {"etrn_networks", networks(s.etrn_networks),
             "Clients that may ask by ETRN for the mail waiting for a domain to be tried now. Not offered "
             "where "
             "nobody may.",
             "[\"192.0.2.0/24\"]"},
            {"etrn_users", BoolKey{&s.etrn_users}, "Clients that have authenticated may too.", ""},
        }};
}

Section section_for(Relay& s) {
    return {
        "relay",
        "Whose mail is passed on without authentication. All other mail for elsewhere is refused with 554 5.7.1.",
        {
            {"networks", networks(s.networks), "Clients that may send to any domain.", ""},
            {"domains", domain_set(s.domains),
             "Domains accepted from everybody and sent on by their route or MX (a secondary MX, a gateway). "
             "\".example.com\" is everything below example.com.",
             "[\"example.net\", \".example.net\"]"},
            {"recipients", lookup_tables(s.recipients),
             "Tables of the recipients these domains have: user+extension@domain, user@domain, @domain. Others are refused "
             "(550 5.1.1). Without any, all are taken.",
             "[\"text:/etc/postrider/relay_recipients\"]"},
        }};
}

Section section_for(Smtpd& s) {
    return {
        "smtpd",
        "Receiving from other systems and programs over SMTP.",
        {
            {"workers", IntKey{&s.workers, 1, 64}, "Processes. By default one for every two processors, 8 at most.",
             "1"},
            {"message_size", SizeKey{&s.message_size, 1 * KiB, 4 * GiB}, "Largest message accepted.", ""},
            {"recipients", IntKey{&s.recipients, 1, 1'000'000}, "Recipients per message; more get 452 4.5.3.", ""},
            {"command_line", IntKey{&s.command_line, 512, 65'536}, "Longest command line, in bytes.", ""},
            {"header_size", SizeKey{&s.header_size, 4 * KiB, 64 * MiB}, "Largest header; more gets 552 5.3.4.", ""},
            {"header_fields", IntKey{&s.header_fields, 10, 1'000'000}, "Fields in a header; more get 554 5.6.0.", ""},
            {"received_fields", IntKey{&s.received_fields, 10, 1000},
             "A message that has come through more systems is in a loop (554 5.4.6).", ""},
            {"commands", IntKey{&s.commands, 100, 10'000'000}, "Commands without a message among them; then 421.",
             ""},
            {"soft_errors", IntKey{&s.soft_errors, 1, 1000}, "From here on every error costs error_delay.", ""},
            {"hard_errors", IntKey{&s.hard_errors, 1, 1000}, "Errors until the session is ended (421).", ""},
            {"error_delay", DurationKey{&s.error_delay, 0s, 1min}, "Pause before the reply to an error.", ""},
            {"command_timeout", DurationKey{&s.command_timeout, 1s, 1h}, "For a complete command.", ""},
            {"data_timeout", DurationKey{&s.data_timeout, 1s, 1h}, "For the next bytes of a message.", ""},
            {"minimum_rate", SizeKey{&s.minimum_rate, 0, GiB},
             "Bytes a second a client must send of a message, measured over a minute; 0 turns this off.", ""},
            {"sessions", IntKey{&s.sessions, 1, 1'000'000}, "Sessions per process; more get 421.", ""},
            {"sessions_per_network", IntKey{&s.limits.sessions_per_network, 1, 1'000'000},
             "Sessions of one client network (an IPv4 address, an IPv6 /64) per process.", ""},
            {"connections_per_minute", IntKey{&s.limits.connections_per_minute, 0, 10'000'000},
             "New connections of one client network per process and minute; 0 turns this off.", ""},
            {"bare_newlines", one_of(s.bare_newlines, newlines),
             "A bare CR or LF in a message: \"normalise\" makes it CRLF, \"reject\" refuses the message.", ""},
            {"bare_newline_networks", networks(s.bare_newline_networks),
             "Clients of yours that end their lines with a bare LF instead of CRLF, commands and the end of a message "
             "included. Only those that are not relays: what a relay passes on may contain what its own client took for text.",
             ""},
            {"complete_headers", networks(s.complete_headers),
             "Clients whose mail gets what its header lacks on listeners of service \"relay\", too, as it does from "
             "sendmail(1): From, Date, Message-ID, domains of bare addresses; and loses Bcc. By default programs of this "
             "host, if they may send to any domain (relay.networks). Messages that have been elsewhere (with a Received field), "
             "or carry a DKIM signature, are left as they are, but for Bcc of one signed here; so is what is passed on by "
             "XFORWARD.",
             ""},
            {"check_recipients", BoolKey{&s.check_recipients},
             "Refuse unknown local users at RCPT (550 5.1.1) instead of reporting them afterwards.", ""},
            {"reverse_names", BoolKey{&s.reverse_names},
             "Look up the client's name (PTR, confirmed by A or AAAA) for log and Received field.", ""},
            {"reverse_name_timeout", DurationKey{&s.reverse_name_timeout, 100ms, 1min},
             "After that the client is \"unknown\".", ""},
            {"proxy_timeout", DurationKey{&s.proxy_timeout, 100ms, 1min},
             "For the header of the PROXY protocol, from listen.<name>.proxy_networks.", ""},
            {"greeting_delay", DurationKey{&s.greeting_delay, 0s, 1min},
             "How long clients outside relay.networks wait for the greeting. Who speaks before it (most "
             "programs that only send junk) is refused with 554 5.5.0.",
             ""},
            {"dns_list_threshold", IntKey{&s.dns_list_threshold, 1, 1000},
             "Clients whose [dns_list] weights add up to this are refused (554 5.7.1).", ""},
            {"messages_per_minute", IntKey{&s.limits.messages_per_minute, 0, 10'000'000},
             "Messages from one client network outside relay.networks, per listener, process and minute; "
             "more get 450 4.7.1. 0 turns this off.",
             ""},
            {"recipients_per_minute", IntKey{&s.limits.recipients_per_minute, 0, 10'000'000},
             "The same for recipients.", ""},
            {"user_connections_per_minute", IntKey{&s.limits.user_connections_per_minute, 0, 10'000'000},
             "Connections in which one user authenticates, per listener, process and minute; more get 421 "
             "4.7.0. 0 turns this off.",
             ""},
            {"user_messages_per_hour", IntKey{&s.limits.user_messages_per_hour, 0, 10'000'000},
             "Messages from one authenticated user, per listener, process and hour; more get 450 4.7.1. 0 "
             "turns this off.",
             ""},
            {"user_recipients_per_hour", IntKey{&s.limits.user_recipients_per_hour, 0, 10'000'000},
             "The same for recipients.", ""},
            {"etrn_per_hour", IntKey{&s.etrn_per_hour, 0, 10'000'000},
             "ETRN commands of one client network, per process and hour; more get 458. 0 turns this off.", ""},
        }};
}

Section section_for(Tls& s) {
    return {
        "tls",
        "Certificates and rules for TLS. Certificates are read again at reload and, within a minute, when "
        "their files change.",
        {
            {"certificates", paths(s.certificates),
             "Files with a certificate and its chain (PEM), read before rights are dropped. The first serves "
             "clients that ask for no name (SNI) or for one that none of them has.",
             ""},
            {"keys", paths(s.keys),
             "Files with their private keys, in the same order. Without any, each key is in the file of its "
             "certificate.",
             ""},
            {"client_authorities", any_text(s.client_authorities),
             "File with the certificates (PEM) that vouch for those of clients; \"\" for none.", ""},
            {"minimum_version", one_of(s.minimum_version, tls_versions),
             "The oldest version of TLS spoken: \"1.2\" or \"1.3\".", ""},
            {"ciphers", any_text(s.ciphers),
             "Ciphers of TLS 1.2, in the words of openssl-ciphers(1); \"\" for those of the library.", ""},
            {"session_tickets", BoolKey{&s.session_tickets},
             "Let clients come back without a whole handshake. The keys are shared by all workers and live "
             "in memory only.",
             ""},
            {"ticket_lifetime", DurationKey{&s.ticket_lifetime, 1min, 7 * 24h},
             "So long a key seals tickets; then a new one does, and the old one opens for as long again.",
             ""},
            {"handshake_timeout", DurationKey{&s.handshake_timeout, 1s, 10min}, "For the handshake of a client.",
             ""},
        }};
}

Section section_for(Auth& s) {
    return {
        "auth",
        "Who may authenticate (AUTH): a file that \"postrider passwd\" writes, or Dovecot's auth service.",
        {
            {"passwords", any_text(s.passwords),
             "File with users and their passwords, hashed; only master reads it. A change is noticed like "
             "that of a certificate.",
             ""},
            {"dovecot", any_text(s.dovecot), "UNIX socket of Dovecot's auth service (auth-client) instead.",
             ""},
            {"mechanisms", one_of_list(s.mechanisms, sasl_mechanisms),
             "What is offered. Those that end in -PLUS only under TLS and with the password file.", ""},
            {"failure_delay", DurationKey{&s.failure_delay, 0s, 1min}, "Pause before the reply to a wrong password.",
             ""},
            {"failures_per_network", IntKey{&s.failures_per_network, 0, 1'000'000},
             "Number of wrong passwords for one user name from one client network (an IPv4 address, an IPv6 /64), per "
             "process and failure_window, after which this user is locked out from there (421 4.7.0); a correct "
             "password before that clears the count. After ten times as many, for whichever users, nobody can "
             "authenticate from the network, unless it is this host or in relay.networks. \"postrider reload\" lifts "
             "all lock-outs. 0 turns this off.",
             ""},
            {"failure_window", DurationKey{&s.failure_window, 1s, 24h},
             "Period over which wrong passwords are counted, and for which a lock-out lasts at most.", ""},
            {"lockout_exempt", networks(s.lockout_exempt),
             "Further networks in which a lock-out concerns one user only, however many others had wrong passwords: those "
             "of webmail, or of an office behind one address.",
             ""},
            {"checks", IntKey{&s.checks, 1, 1000},
             "Passwords checked, or questions put to Dovecot, at the same time, per process. A check takes "
             "much time on purpose.",
             ""},
            {"checks_waiting", IntKey{&s.checks_waiting, 0, 100'000},
             "How many may wait for that; more are told to try again later (454 4.7.0).", ""},
            {"sender_match", BoolKey{&s.sender_match},
             "An authenticated user may only send as himself: NAME in a local domain or the origin, NAME "
             "itself if it is an address, and those the password file lists for him (553 5.7.1).",
             ""},
        }};
}

Section section_for(Submit& s) {
    return {
        "submit",
        "Mail from programs on this host: sendmail(1), the submit socket, the drop directory.",
        {
            {"message_size", SizeKey{&s.message_size, 1 * KiB, 4 * GiB}, "Largest message accepted.", ""},
            {"recipients", IntKey{&s.recipients, 1, 1'000'000}, "Recipients per message.", ""},
            {"connections", IntKey{&s.connections, 1, 10'000}, "Submissions at the same time.", ""},
            {"connections_per_user", IntKey{&s.connections_per_user, 1, 10'000}, "The same, of one user.", ""},
            {"user_messages_per_hour", IntKey{&s.user_messages_per_hour, 0, 10'000'000},
             "Messages of one user; sendmail exits with 75 (try again later) at more. 0 turns this off.", ""},
            {"user_bytes_per_hour", SizeKey{&s.user_bytes_per_hour, 0, 1024 * GiB}, "The same for their sizes.",
             ""},
            {"timeout", DurationKey{&s.timeout, 1s, 1h}, "For the next bytes of a submission.", ""},
            {"drop_interval", DurationKey{&s.drop_interval, 1s, 1h},
             "The drop directory is watched, and looked through that often all the same.", ""},
            {"drop_user_bytes", SizeKey{&s.drop_user_bytes, 1 * MiB, 1024 * GiB},
             "What one user (not root) may leave in the drop directory while Postrider does not run; never less than two "
             "messages of message_size.",
             ""},
            {"drop_user_messages", IntKey{&s.drop_user_messages, 1, 10'000'000}, "The same for the number of messages.", ""},
        }};
}

} // namespace config
