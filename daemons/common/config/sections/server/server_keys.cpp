// The keys for receiving mail.
#include "daemons/common/config/schema/value_types.h"
#include "daemons/common/config/sections/key_tables.h"
#include "daemons/common/config/sections/server/auth.h"
#include "daemons/common/config/sections/server/idempotency_match_words.h"
#include "daemons/common/config/sections/server/listener.h"
#include "daemons/common/config/sections/server/relay.h"
#include "daemons/common/config/sections/server/smtpd.h"
#include "daemons/common/config/sections/server/submit.h"
#include "daemons/common/config/sections/server/tls.h"
#include "daemons/common/config/sections/system/tls_versions.h"
#include "daemons/common/text/units.h"

namespace config {

namespace {

constexpr EnumValue<Service> services[] = {
    {"relay", Service::relay}, {"submission", Service::submission}, {"filtered", Service::filtered}};
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
        "One section per listening service, with a name of your choice. If there is none, [listen.smtp] on *:25 is "
        "used.",
        {
            {"addresses", endpoints(s.addresses, 0),
             "Addresses and ports to listen on. \"*:25\" means all addresses, IPv6 and IPv4.", "[\"*:25\"]"},
            {"service", one_of(s.service, services),
             "Type of service. \"relay\" accepts mail from other systems for our domains (port 25); \"submission\" "
             "accepts mail from our own users' programs for any domain and completes its header (port 587); "
             "\"filtered\" takes mail back from a content filter, and leaves it as it is.",
             ""},
            {"tls", one_of(s.tls, listener_tls),
             "Use of TLS: \"offer\" offers STARTTLS, \"require\" requires it before anything else, \"implicit\" uses "
             "TLS from the first byte (port 465), \"no\" disables TLS. The default is \"require\" for service "
             "submission; otherwise \"offer\" if tls.certificates is set, else \"no\".",
             "\"no\""},
            {"client_certificates", BoolKey{&s.client_certificates},
             "Whether to ask clients for a certificate; the log and the message show whether tls.client_ca_file "
             "verifies it. relay.client_certificates lists those that permit relaying. The default is false.",
             "true"},
            {"client_certificate_required", BoolKey{&s.certificate_required},
             "Whether to reject clients (554 5.7.1 to EHLO) without a valid certificate that tls.client_ca_file "
             "verifies or relay.client_certificates lists. Requires TLS, and client_certificates.",
             ""},
            {"auth", BoolKey{&s.auth},
             "Whether to let clients authenticate; authenticated clients may send to any domain. The default is true "
             "for service submission if [auth] names a source of passwords.",
             ""},
            {"auth_without_tls", BoolKey{&s.auth_without_tls},
             "Whether to offer authentication without TLS. Anyone who can read the traffic then learns the "
             "passwords.",
             ""},
            {"submission_networks", networks(s.submitters),
             "For service submission: networks that may send without authentication. Other clients must authenticate "
             "(530). For service filtered: where content filters send mail from.",
             ""},
            {"proxy_networks", networks(s.proxy_networks),
             "Load balancers that connect on behalf of clients: each connection must begin with a header of the "
             "PROXY protocol (version 1 or 2), and the client it names is treated as the client in every respect. "
             "All other peers are rejected (554 5.7.1).",
             "[\"192.0.2.10\"]"},
            {"xclient_networks", networks(s.xclient_networks),
             "Proxies that may use XCLIENT to name the client and the user it has authenticated as; from then on the "
             "session is treated as that client's in every respect. Others get 550 5.7.0.",
             "[\"192.0.2.11\"]"},
            {"xforward_networks", networks(s.xforward_networks),
             "Mail servers that may use XFORWARD to say where a message came from before. This is logged, and the "
             "header of such a message is left as it is (see smtpd.complete_headers). Others get 550 5.7.0.",
             "[\"127.0.0.1\"]"},
            {"message_size", SizeKey{&s.message_size, 1 * KiB, 4 * GiB},
             "Overrides smtpd.message_size for this listener.", "\"50MiB\""},
            {"recipients", IntKey{&s.recipients, 1, 1'000'000}, "Overrides smtpd.recipients for this listener.",
             "1000"},
            {"sessions", IntKey{&s.sessions, 1, 1'000'000}, "Overrides smtpd.sessions for this listener.", "5000"},
            {"sessions_per_network", IntKey{&s.limits.sessions_per_network, 1, 1'000'000},
             "Overrides smtpd.sessions_per_network for this listener.", "500"},
            {"connections_per_minute", IntKey{&s.limits.connections_per_minute, 0, 10'000'000},
             "Overrides smtpd.connections_per_minute for this listener.", ""},
            {"messages_per_minute", IntKey{&s.limits.messages_per_minute, 0, 10'000'000},
             "Overrides smtpd.messages_per_minute for this listener.", ""},
            {"recipients_per_minute", IntKey{&s.limits.recipients_per_minute, 0, 10'000'000},
             "Overrides smtpd.recipients_per_minute for this listener.", ""},
            {"user_connections_per_minute", IntKey{&s.limits.user_connections_per_minute, 0, 10'000'000},
             "Overrides smtpd.user_connections_per_minute for this listener.", ""},
            {"user_messages_per_hour", IntKey{&s.limits.user_messages_per_hour, 0, 10'000'000},
             "Overrides smtpd.user_messages_per_hour for this listener.", ""},
            {"user_recipients_per_hour", IntKey{&s.limits.user_recipients_per_hour, 0, 10'000'000},
             "Overrides smtpd.user_recipients_per_hour for this listener.", ""},
            {"content_filter", any_text(s.content_filter),
             "Content filter behind the queue, to which all mail from this listener is sent before anything else is "
             "decided about it: a host in brackets (\"lmtp:\" before it selects LMTP), or the name of a [route], for "
             "limits of its own. The filter sends the mail back to a listener with service = \"filtered\". Mail waits "
             "until the filter takes it. postrider-content-filter(7) has an example.",
             "\"[127.0.0.1]:10024\""},
            {"smtputf8", BoolKey{&s.smtputf8},
             "Whether to accept addresses and header fields in UTF-8 (SMTPUTF8). Such mail is returned to its sender "
             "if the next system does not accept it and it has no ASCII form.",
             ""},
            {"vrfy", one_of(s.vrfy, vrfy_answers),
             "Reply to VRFY: \"noncommittal\" (252 for any address), \"verify\" (as RCPT would reply, so that anyone "
             "can find out which recipients exist), or \"off\" (502).",
             ""},
            {"idempotency_match", one_of(s.idempotency_match, idempotency_matches),
             "Overrides idempotency.match for this listener.", "\"content\""},
            {"etrn_networks", networks(s.etrn_networks),
             "Clients that may use ETRN to have the mail that waits for a domain retried immediately. ETRN is not "
             "offered if no client may use it.",
             "[\"192.0.2.0/24\"]"},
            {"etrn_authenticated", BoolKey{&s.etrn_users}, "Whether clients that have authenticated may use ETRN too.",
             ""},
        }};
}

Section section_for(Relay& s) {
    return {"relay",
            "Relaying without authentication. All other mail for other systems is rejected with 554 5.7.1.",
            {
                {"networks", networks(s.networks), "Clients that may send to any domain.", ""},
                {"client_certificates", lookup_tables(s.client_certificates),
                 "Tables of the certificates whose owners may send to any domain, by the SHA-256 fingerprint of the "
                 "certificate or of its public key (\"AB:CD:...\", as in the log and as openssl-x509(1) prints it). "
                 "The value is the client's name (submitter=cert:NAME). A certificate that has expired permits "
                 "nothing; no authority need vouch for it. Listeners ask for one if client_certificates is true.",
                 "[\"text:/etc/postrider/client_certificates\"]"},
                {"verified_client_certificates", BoolKey{&s.verified_certificates},
                 "Whether clients with any certificate that tls.client_ca_file verifies may send to any domain. Only "
                 "for an authority that issues certificates to these clients alone. A client's name is that of its "
                 "certificate (submitter=cert:CN=NAME).",
                 ""},
                {"domains", domain_set(s.domains),
                 "Domains for which mail is accepted from all clients and relayed by route or MX (a secondary MX, a "
                 "gateway). \".example.com\" matches all domains below example.com.",
                 "[\"example.net\", \".example.net\"]"},
                {"domain_tables", lookup_tables(s.domain_tables),
                 "Tables of further such domains: an entry with the domain as its key, with any value that is not "
                 "empty; \".example.com\" is for all domains below example.com. A file of names alone is no table: "
                 "list them in domains.",
                 "[\"text:/etc/postrider/relay_domains\"]"},
                {"parent_domains", BoolKey{&s.parent_domains},
                 "Whether the entry example.com of domain_tables is for the domains below it too; then "
                 "\".example.com\" is not looked up.",
                 ""},
                {"recipients", lookup_tables(s.recipients),
                 "Tables of the recipients in these domains: user+extension@domain, user@domain, @domain. Others are "
                 "rejected (550 5.1.1). If empty, all are accepted.",
                 "[\"text:/etc/postrider/relay_recipients\"]"},
            }};
}

Section section_for(Smtpd& s) {
    return {
        "smtpd",
        "Receiving mail from other systems and programs over SMTP.",
        {
            {"workers", IntKey{&s.workers, 1, 64},
             "Number of processes. The default is one for every two processors, at most 8.", "1"},
            {"message_size", SizeKey{&s.message_size, 1 * KiB, 4 * GiB}, "Maximum size of a message.", ""},
            {"recipients", IntKey{&s.recipients, 1, 1'000'000},
             "Maximum number of recipients per message; further ones get 452 4.5.3.", ""},
            {"command_line", IntKey{&s.command_line, 512, 65'536}, "Maximum length of a command line, in bytes.", ""},
            {"header_size", SizeKey{&s.header_size, 4 * KiB, 64 * MiB},
             "Maximum size of a header; a larger one gets 552 5.3.4.", ""},
            {"header_fields", IntKey{&s.header_fields, 10, 1'000'000},
             "Maximum number of fields in a header; more get 554 5.6.0.", ""},
            {"received_fields", IntKey{&s.received_fields, 10, 1000},
             "Maximum number of Received fields; a message with more is in a loop (554 5.4.6).", ""},
            {"commands", IntKey{&s.commands, 100, 10'000'000},
             "Maximum number of commands in a session without a message; each further one counts as an error.", ""},
            {"soft_errors", IntKey{&s.soft_errors, 1, 1000},
             "Number of errors in a session at which error replies begin to be delayed by error_delay.", ""},
            {"hard_errors", IntKey{&s.hard_errors, 1, 1000}, "Number of errors at which the session is closed (421).",
             ""},
            {"error_delay", DurationKey{&s.error_delay, 0s, 1min}, "Delay before the reply to an error.", ""},
            {"command_timeout", DurationKey{&s.command_timeout, 1s, 1h}, "Time limit for receiving a complete command.",
             ""},
            {"data_timeout", DurationKey{&s.data_timeout, 1s, 1h},
             "Time limit for receiving the next bytes of a message.", ""},
            {"minimum_rate", SizeKey{&s.minimum_rate, 0, GiB},
             "Minimum rate, in bytes per second, at which a client must send a message, measured over a minute; 0 "
             "disables this.",
             ""},
            {"sessions", IntKey{&s.sessions, 1, 1'000'000},
             "Maximum number of sessions per process; further ones get 421.", ""},
            {"sessions_per_network", IntKey{&s.limits.sessions_per_network, 1, 1'000'000},
             "Maximum number of sessions from one client network (an IPv4 address, an IPv6 /64), per process.", ""},
            {"connections_per_minute", IntKey{&s.limits.connections_per_minute, 0, 10'000'000},
             "Maximum number of new connections from one client network, per process and minute. 0 means no "
             "limit.",
             ""},
            {"bare_newlines", one_of(s.bare_newlines, newlines),
             "What happens to a bare CR or LF in a message: \"normalise\" converts it to CRLF, \"reject\" rejects "
             "the message.",
             ""},
            {"bare_newline_networks", networks(s.bare_newline_networks),
             "Your own clients that end lines with a bare LF instead of CRLF, including commands and the end of a "
             "message. Do not list relays: text in a message that they pass on could be taken for the end of the "
             "message.",
             ""},
            {"complete_headers", networks(s.complete_headers),
             "Clients whose mail is completed, as sendmail(1) does, also on listeners with service \"relay\": "
             "missing From, Date and Message-ID fields and domains of bare addresses are added, and Bcc is removed. "
             "The default is programs on this host, if they may send to any domain (relay.networks). Messages that "
             "have been on another system (with a Received field), or have a DKIM signature, are not changed, except "
             "that Bcc is removed from those signed here; neither are messages passed on with XFORWARD.",
             ""},
            {"check_recipients", BoolKey{&s.check_recipients},
             "Whether to reject unknown recipients in our own domains of every kind at RCPT (550 5.1.1) instead of "
             "accepting the mail and reporting them later. For users of this system alone, see local.check_recipients; "
             "recipients in relay.domains are known if relay.recipients lists them.",
             ""},
            {"reverse_lookup", BoolKey{&s.reverse_names},
             "Whether to look up the client's name (PTR, confirmed by A or AAAA) for the log and the Received "
             "field.",
             ""},
            {"reverse_lookup_timeout", DurationKey{&s.reverse_name_timeout, 100ms, 1min},
             "Time limit for looking up the client's name; after that, it is \"unknown\".", ""},
            {"proxy_timeout", DurationKey{&s.proxy_timeout, 100ms, 1min},
             "Time limit for the header of the PROXY protocol, from listen.<name>.proxy_networks.", ""},
            {"greeting_delay", DurationKey{&s.greeting_delay, 0s, 1min},
             "Delay before the greeting for clients outside relay.networks. Clients that send before it, as most "
             "programs that only send junk do, are rejected with 554 5.5.0.",
             ""},
            {"dns_list_threshold", IntKey{&s.dns_list_threshold, 1, 1000},
             "Sum of [dns_list] weights at which clients are rejected (554 5.7.1).", ""},
            {"messages_per_minute", IntKey{&s.limits.messages_per_minute, 0, 10'000'000},
             "Maximum number of messages from one client network outside relay.networks, per listener, process and "
             "minute; further ones get 450 4.7.1. 0 means no limit.",
             ""},
            {"recipients_per_minute", IntKey{&s.limits.recipients_per_minute, 0, 10'000'000},
             "Maximum number of recipients, limited in the same way as messages_per_minute.", ""},
            {"user_connections_per_minute", IntKey{&s.limits.user_connections_per_minute, 0, 10'000'000},
             "Maximum number of connections in which one user authenticates, per listener, process and minute; "
             "further ones get 421 4.7.0. 0 means no limit.",
             ""},
            {"user_messages_per_hour", IntKey{&s.limits.user_messages_per_hour, 0, 10'000'000},
             "Maximum number of messages from one authenticated user, per listener, process and hour; further ones "
             "get 450 4.7.1. 0 means no limit.",
             ""},
            {"user_recipients_per_hour", IntKey{&s.limits.user_recipients_per_hour, 0, 10'000'000},
             "Maximum number of recipients, limited in the same way as user_messages_per_hour.", ""},
            {"etrn_per_hour", IntKey{&s.etrn_per_hour, 0, 10'000'000},
             "Maximum number of ETRN commands from one client network, per process and hour; further ones get 458. 0 "
             "means no limit.",
             ""},
        }};
}

Section section_for(Tls& s) {
    return {
        "tls",
        "Certificates and settings for TLS. Certificates are read again at reload and, within a minute, when their "
        "files change.",
        {
            {"certificates", paths(s.certificates),
             "Files with a certificate and its chain (PEM), read before privileges are dropped. The first one is "
             "used for clients that request no name (SNI), or one that is in none of the certificates.",
             ""},
            {"keys", paths(s.keys),
             "Files with the private keys of the certificates, in the same order. If empty, each key is in the file "
             "of its certificate.",
             ""},
            {"client_ca_file", any_text(s.client_authorities),
             "File with the CA certificates (PEM) used to verify clients; \"\" for none.", ""},
            {"minimum_version", one_of(s.minimum_version, tls_versions), "Minimum TLS version: \"1.2\" or \"1.3\".",
             ""},
            {"ciphers", any_text(s.ciphers),
             "Ciphers of TLS 1.2, in the format of openssl-ciphers(1); \"\" for the library's default.", ""},
            {"session_tickets", BoolKey{&s.session_tickets},
             "Whether to let clients resume sessions without a full handshake. The keys are shared by all workers "
             "and kept in memory only.",
             ""},
            {"ticket_lifetime", DurationKey{&s.ticket_lifetime, 1min, 7 * 24h},
             "How long a key encrypts new session tickets; then a new key is used, and tickets of the old one are "
             "accepted for the same time again.",
             ""},
            {"handshake_timeout", DurationKey{&s.handshake_timeout, 1s, 10min},
             "Time limit for the TLS handshake with a client.", ""},
        }};
}

Section section_for(Auth& s) {
    return {
        "auth",
        "Authentication of clients (AUTH): with a password file written by \"postrider passwd\", or with Dovecot's "
        "auth service.",
        {
            {"passwords", any_text(s.passwords),
             "File with users and their hashed passwords; only master reads it. Changes are detected like those of a "
             "certificate.",
             ""},
            {"dovecot", any_text(s.dovecot),
             "UNIX socket of Dovecot's auth service (auth-client), used instead of a password file.", ""},
            {"mechanisms", one_of_list(s.mechanisms, sasl_mechanisms),
             "Mechanisms that are offered. Those that end in -PLUS are offered only under TLS and with a password "
             "file.",
             ""},
            {"failure_delay", DurationKey{&s.failure_delay, 0s, 1min}, "Delay before the reply to a wrong password.",
             ""},
            {"failures_per_network", IntKey{&s.failures_per_network, 0, 1'000'000},
             "Number of wrong passwords for one user name from one client network (an IPv4 address, an IPv6 /64), "
             "per process and failure_window, after which this user is locked out from there (421 4.7.0); a correct "
             "password before that resets the count. After ten times as many, for any users, all users are locked "
             "out from the network, unless it is this host or in relay.networks. \"postrider reload\" lifts all "
             "lockouts. 0 disables this.",
             ""},
            {"failure_window", DurationKey{&s.failure_window, 1s, 24h},
             "Period over which wrong passwords are counted, and maximum duration of a lockout.", ""},
            {"lockout_exempt", networks(s.lockout_exempt),
             "Further networks in which a lockout affects one user only, however many others had wrong passwords: "
             "those of webmail, or of an office behind one address.",
             ""},
            {"concurrent_checks", IntKey{&s.checks, 1, 1000},
             "Maximum number of passwords checked, or of requests to Dovecot, at the same time, per process. "
             "Checking a password is slow by design.",
             ""},
            {"queued_checks", IntKey{&s.checks_waiting, 0, 100'000},
             "Maximum number of clients that wait for such a check; further ones get 454 4.7.0 (try again "
             "later).",
             ""},
            {"sender_login_tables", lookup_tables(s.sender_login_tables),
             "Tables of the users to whom a sender belongs, for the access rules reject_sender_login_mismatch and the "
             "like: user+extension@domain, user@domain, @domain. The value has the names of the users, separated by "
             "commas.",
             "[\"text:/etc/postrider/sender_logins\"]"},
            {"sender_match", BoolKey{&s.sender_match},
             "Whether authenticated users may send only as themselves: NAME in a local domain or the origin, NAME "
             "itself if it is an address, and the addresses that the password file lists for them (553 5.7.1).",
             ""},
        }};
}

// An absolute path; "" none.
static TextKey directory(std::string& value) {
    return {[&value](std::string_view text) -> Refusal {
                if (!text.empty() && !text.starts_with('/')) return fmt::format("\"{}\" is not an absolute path", text);
                value = text;
                while (value.size() > 1 && value.ends_with('/')) value.pop_back();
                return std::nullopt;
            },
            [&value] { return value; }};
}

Section section_for(Submit& s) {
    return {
        "submit",
        "Mail from programs on this host: sendmail(1), the submit socket, the drop directory.",
        {
            {"message_size", SizeKey{&s.message_size, 1 * KiB, 4 * GiB}, "Maximum size of a message.", ""},
            {"recipients", IntKey{&s.recipients, 1, 1'000'000}, "Maximum number of recipients per message.", ""},
            {"connections", IntKey{&s.connections, 1, 10'000}, "Maximum number of simultaneous submissions.", ""},
            {"connections_per_user", IntKey{&s.connections_per_user, 1, 10'000},
             "Maximum number of simultaneous submissions of one user.", ""},
            {"user_messages_per_hour", IntKey{&s.user_messages_per_hour, 0, 10'000'000},
             "Maximum number of messages of one user per hour; for further ones sendmail exits with 75 (try again "
             "later). 0 means no limit.",
             ""},
            {"user_bytes_per_hour", SizeKey{&s.user_bytes_per_hour, 0, 1024 * GiB},
             "Maximum total size of the messages of one user per hour, with the same effect. 0 means no limit.", ""},
            {"timeout", DurationKey{&s.timeout, 1s, 1h}, "Time limit for receiving the next bytes of a submission.",
             ""},
            {"drop_interval", DurationKey{&s.drop_interval, 1s, 1h},
             "Interval at which the drop directory is searched, in addition to being watched for changes.", ""},
            {"drop_user_bytes", SizeKey{&s.drop_user_bytes, 1 * MiB, 1024 * GiB},
             "Maximum size of the messages that one user (not root) may leave in the drop directory while Postrider "
             "is not running; never less than two messages of message_size.",
             ""},
            {"drop_user_messages", IntKey{&s.drop_user_messages, 1, 10'000'000},
             "Maximum number of messages that one user (not root) may leave there.", ""},
            {"pickup_directory", directory(s.pickup_directory),
             "Directory for messages as files: each file there whose name ends in .eml is sent and removed, and its "
             "owner is the submitter. It must belong to the user that Postrider runs as; users that may submit mail "
             "need the permission to write (mode 1733: each removes only their own files). What cannot be sent is "
             "moved to failed/ in it, beside a file with the reason. Empty means none. See postrider-pickup(8).",
             "\"/var/spool/postrider-pickup\""},
            {"content_filter", any_text(s.content_filter),
             "As content_filter of a listener, for mail submitted by programs of this system and over HTTP.",
             "\"[127.0.0.1]:10024\""},
        }};
}

} // namespace config
