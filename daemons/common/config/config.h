// The configuration as every daemon sees it: plain structs with defaults, one per section of postrider.toml.
// Filled once by parse(), which refuses what it does not know, then passed by const reference.
// Knows no file system and no TOML library (parse.cpp does). What each key means to an operator is said
// once, in tables.cpp.
#pragma once
#include "daemons/common/config/addresses.h"
#include "daemons/common/config/bounce.h"
#include "daemons/common/config/filters.h"
#include "daemons/common/config/idempotency.h"
#include "daemons/common/config/lookup.h"
#include "daemons/common/config/local_delivery.h"
#include "daemons/common/config/metrics.h"
#include "daemons/common/config/pools.h"
#include "daemons/common/config/suppression.h"
#include "daemons/common/network.h"
#include "daemons/decide/address_class.h"
#include "daemons/decide/queue/settings.h"
#include "daemons/decide/routing.h"
#include "daemons/decide/signing.h"
#include "libsmtp/time.h"
#include <cstdint>
#include <expected>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace config {

using smtp::Duration;
using namespace std::chrono_literals;
inline constexpr std::uint64_t KiB = 1024, MiB = 1024 * KiB;
inline constexpr std::size_t largest_text = 4 * MiB; // of a configuration

// Who said what this system is called.
enum class NameSource { configuration, mailname, system, hostname };

struct Mta {
    std::string hostname; // never empty after parse(): /etc/mailname's or the system's if none is configured
    std::string origin;   // completes bare names; never empty after parse()
    NameSource hostname_from = NameSource::configuration; // never hostname
    NameSource origin_from = NameSource::configuration;   // never system
    bool users = true;    // false: single-user mode, nobody changes user
    std::string user = "postrider";
    std::string drop_group = "postrider-drop";
    std::string admin_group = "postrider-adm";
};

struct Spool {
    std::string directory = "/var/spool/postrider";
    std::uint64_t minimum_free = 64 * MiB;    // below it: 452 4.3.1
    std::uint32_t minimum_free_inodes = 1024; // below it: 452 4.3.1
    std::uint64_t reserve = 8 * MiB;          // kept back for NDRs
    Duration scrub_interval = 24h;            // every waiting message is read again; 0 never
    std::uint32_t sync_threads = 16;          // file syncs side by side, per writing process
    std::uint64_t content_memory = 128 * MiB; // of messages being received, per writing process
    Duration bad_age = 24h * 30;              // bad/ and quarantine/: what is older goes; 0 nothing does
    std::uint64_t bad_size = 256 * MiB;       // beyond it the oldest go; 0 no limit
    Duration quarantine_age = 24h * 90;
    std::uint64_t quarantine_size = 1024 * MiB; // of each of quarantine/ and quarantine/incomplete/
    Duration removed_age = 1h;                // what operators removed can be brought back for so long; 0 not at all
    std::uint64_t removed_size = 256 * MiB;   // beyond it the oldest can no longer
};

enum class LogLevel { error, warning, info, debug };

struct Log {
    std::string file; // "" none
    bool syslog = true;
    std::string syslog_socket = "/dev/log";
    std::string name = "postfix"; // the tag before "/smtpd[…]:"
    LogLevel level = LogLevel::info;
    bool json = false;              // the file gets a JSON object per line
    std::uint64_t buffer = 1 * MiB; // of lines not yet written; more are counted and lost
};

enum class MailboxFormat { maildir, mbox };

struct Mailbox {
    MailboxFormat format = MailboxFormat::mbox;
    std::string path = "/var/mail/{user}"; // with {user}, {home}
    // The path for one user; both words are put in literally.
    std::string path_for(std::string_view user, std::string_view home) const;
    std::string to_string() const; // "mbox:/var/mail/{user}"
    bool operator==(const Mailbox&) const = default;
};

struct Local {
    std::vector<std::string> domains; // lower case; never empty after parse(): hostname, its short form, localhost
    std::vector<std::string> aliases = {"/etc/aliases"};
    Mailbox mailbox;
    std::vector<std::string> users; // only these; empty: the system's users (never empty in single-user mode)
    std::string postmaster;         // where postmaster goes when no alias says so; never empty after parse()
    std::string recipient_delimiter = "+"; // "" none
    std::uint32_t minimum_uid = 1;         // mailboxes of lower ones are never written
    Duration lock_timeout = 30s;           // for an mbox somebody else has locked
    std::uint32_t alias_depth = 50;
    std::uint32_t alias_recipients = 100'000; // one address may become so many
    LocalDelivery delivery;
    AliasRules alias_rules;
};

enum class Service { relay, submission };
enum class ListenerTls {
    by_service, // in a file without the key: offer where there is a certificate, require on submission
    no,
    offer,    // STARTTLS
    require,  // STARTTLS before anything else
    implicit, // from the first byte
};

// What may come from one client network (an IPv4 address or an IPv6 /64) or one authenticated user; counted
// by each process for itself. 0: no limit.
struct ClientLimits {
    std::uint32_t sessions_per_network = 500;      // at a time; never 0
    std::uint32_t connections_per_minute = 0;      // new ones, of one network
    std::uint32_t messages_per_minute = 0;         // of one network that may not relay
    std::uint32_t recipients_per_minute = 0;       // the same
    std::uint32_t user_connections_per_minute = 0; // in which one user authenticates
    std::uint32_t user_messages_per_hour = 0;
    std::uint32_t user_recipients_per_hour = 0;
};

enum class Vrfy {
    off,          // 502, and not offered
    noncommittal, // 252, whatever was asked
    verify,       // as RCPT would answer
};

struct Listener {
    std::string name; // of [listen.<name>]
    std::vector<common::Endpoint> addresses;
    Service service = Service::relay;
    ListenerTls tls = ListenerTls::by_service;
    bool client_certificates = false;        // clients are asked for one
    bool auth = false;                       // never by default on relay; on submission where [auth] can decide
    bool auth_without_tls = false;           // passwords in plain text
    std::vector<common::Network> submitters; // submission: who may send without AUTH
    std::vector<common::Network> proxy_networks;    // not empty: only from these, and behind a PROXY header
    std::vector<common::Network> xclient_networks;  // who may say who the client is
    std::vector<common::Network> xforward_networks; // who may say where mail came from before
    std::uint64_t message_size = 0;          // 0 in a file: [smtpd]'s
    std::uint32_t recipients = 0;            // 0 in a file: [smtpd]'s
    std::uint32_t sessions = 0;              // 0 in a file: [smtpd]'s
    ClientLimits limits;                     // what is not in a file: [smtpd]'s
    bool smtputf8 = true;                    // RFC 6531
    Vrfy vrfy = Vrfy::noncommittal;
    std::vector<common::Network> etrn_networks; // RFC 1985: who may; not offered where nobody may
    bool etrn_users = false;                    // clients that have authenticated, too
};

struct Relay {
    std::vector<common::Network> networks; // who may relay; loopback by default
    std::set<std::string, std::less<>>
        domains; // lower case; accepted from anybody and sent on; ".x": below x
    std::vector<std::string> recipients; // tables of those there are; none: everybody
};

struct Dns {
    std::vector<common::Endpoint> servers; // empty: /etc/resolv.conf
    Duration timeout = 5s;                 // first try; doubles
    std::uint32_t tries = 3;
    std::uint32_t edns_size = 1232;
    std::uint32_t cache_entries = 20'000;
    Duration maximum_ttl = 24h;
    Duration minimum_ttl = 5s;
    Duration negative_ttl = 5min; // at most, for "no such name" and "no such record"
    Duration failure_ttl = 10s;   // a failed look-up is not repeated before that
    bool trust_ad = true;         // of name servers on loopback; others are never believed to have validated
};

enum class TlsVersion { tls_1_2, tls_1_3 };

struct SmtpClient {
    std::uint32_t workers = 0; // never 0 after parse(): half the processors, 1 to 8
    std::string helo;          // never empty after parse(): the hostname
    Duration connect_timeout = 30s;
    Duration greeting_timeout = 5min;
    Duration command_timeout = 5min; // EHLO, MAIL, RCPT, RSET
    Duration data_timeout = 2min;
    Duration block_timeout = 3min;
    Duration final_dot_timeout = 10min;
    std::uint64_t minimum_rate = 64; // bytes a second taken of a message; 0 none
    Duration delivery_timeout = 1h;  // of a transaction, beside its content's time by that rate
    std::uint32_t addresses_per_attempt = 5;
    Duration connection_attempt_delay = 250ms; // RFC 8305, 5
    bool ipv4 = true, ipv6 = true;
    bool pipelining = true;
    bool chunking = true;
    decide::TlsLevel tls = decide::TlsLevel::sts; // never by_default
    TlsVersion tls_minimum_version = TlsVersion::tls_1_2;
    std::string tls_ciphers;
    std::string tls_authorities = "/etc/ssl/certs/ca-certificates.crt"; // "": nobody's certificate is trusted
    std::string credentials; // file of our accounts at next hops; "" none
};

enum class BareNewlines { normalise, reject };

struct Smtpd {
    std::uint32_t workers = 0; // never 0 after parse(): half the processors, 1 to 8
    std::uint64_t message_size = 50 * MiB;
    std::uint32_t recipients = 1000;
    std::uint32_t command_line = 2048;
    std::uint64_t header_size = 2 * MiB;  // more: 552 5.3.4
    std::uint32_t header_fields = 10'000; // more: 5.6.0
    std::uint32_t received_fields = 50;   // more: 554 5.4.6
    std::uint32_t commands = 10'000;      // without a message in between
    std::uint32_t soft_errors = 10;       // from here on every error costs error_delay
    std::uint32_t hard_errors = 20;       // 421
    Duration error_delay = 1s;
    Duration command_timeout = 5min;
    Duration data_timeout = 3min;
    std::uint64_t minimum_rate = 64; // bytes a second while content is sent, measured over a minute; 0 none
    std::uint32_t sessions = 5000;   // per worker
    BareNewlines bare_newlines = BareNewlines::normalise;
    std::vector<common::Network> bare_newline_networks; // a bare LF ends a line of these, commands too
    // Whose, on relay listeners, too.
    std::vector<common::Network> complete_headers = {*common::Network::parse("127.0.0.0/8"), *common::Network::parse("::1")};
    bool check_recipients = true; // unknown local users are refused at RCPT
    bool reverse_names = true;    // look up the client's name (PTR, confirmed by A/AAAA)
    Duration reverse_name_timeout = 5s;
    Duration proxy_timeout = 5s;              // for the header of the PROXY protocol
    Duration greeting_delay = 0s;             // before the banner, for strangers; who speaks first is refused
    std::uint32_t dns_list_threshold = 1;     // weights that add up to this: 554 5.7.1
    ClientLimits limits;
    std::uint32_t etrn_per_hour = 60; // of one client network, per process; 0 no limit
};

struct Tls {
    std::vector<std::string> certificates; // chains, PEM; the first serves who asks for no name
    std::vector<std::string> keys;         // as many, or none: the key is in the same file
    std::string client_authorities;        // PEM; "" none
    TlsVersion minimum_version = TlsVersion::tls_1_2;
    std::string ciphers;
    bool session_tickets = true;
    Duration ticket_lifetime = 12h; // a key for tickets is in use so long, and opens old ones as long again
    Duration handshake_timeout = 1min;
};

struct Auth {
    std::string passwords; // file; "" none
    std::string dovecot;   // socket; "" none. It decides alone
    std::vector<std::string> mechanisms = {"SCRAM-SHA-256-PLUS", "SCRAM-SHA-256", "PLAIN", "LOGIN"};
    Duration failure_delay = 2s;
    std::uint32_t failures_per_network = 20; // within failure_window: 421; 0 no limit
    Duration failure_window = 10min;
    std::vector<common::Network> lockout_exempt; // beside loopback and relay.networks: no lock-out of all users
    std::uint32_t checks = 4;          // passwords or answers looked at at the same time, per process
    std::uint32_t checks_waiting = 200; // behind these; more: 454
    bool sender_match = false; // the reverse-path must be the user's own
};

struct Submit { // pickup: the submit socket and the drop directory
    std::uint64_t message_size = 50 * MiB;
    std::uint32_t recipients = 10'000;
    std::uint32_t connections = 200;
    std::uint32_t connections_per_user = 50;
    std::uint32_t user_messages_per_hour = 0; // 0 no limit
    std::uint64_t user_bytes_per_hour = 0;    // the same
    Duration timeout = 5min;
    Duration drop_interval = 1min;
    std::uint64_t drop_user_bytes = 100 * MiB; // left by one user while nothing runs
    std::uint32_t drop_user_messages = 1000;
};

struct TlsReports { // RFC 8460
    bool enabled = false;
    std::string organization;    // never empty after parse(): the hostname
    std::string contact, from;   // addresses; never empty after parse(): postmaster of the hostname
    Duration delay = 4h;         // reports on a day are sent within so long after its end
};

struct Master {
    Duration heartbeat_interval = 10s;
    Duration heartbeat_timeout = 60s;
    Duration restart_delay = 100ms; // after the first death; doubles
    Duration restart_delay_limit = 1min;
    Duration stop_timeout = 30s;
    std::uint32_t reload_limit = 100; // queued messages that a reload may return or reroute unasked; 0: any number
};

// That host, or address, at that port is really somewhere else.
struct ConnectTo {
    std::string host; // lower case, or an address as IpAddress::to_string() has it
    std::uint16_t port = 25;
    common::Endpoint to;
    // "mx.example.com:25=127.0.0.1:2525", "[2001:db8::1]:25=[::1]:2525"
    static std::optional<ConnectTo> parse(std::string_view text);
    std::string to_string() const;
    bool operator==(const ConnectTo&) const = default;
};

struct Testing { // refused unless in single-user mode
    std::vector<ConnectTo> connect_to;
};

// A file or directory the configuration names and that must exist.
struct FileReference {
    std::string path;
    std::string key; // "local.aliases"
    std::uint32_t line = 0, column = 0;
};

struct Config {
    std::string file; // as given to parse()
    Mta mta;
    Spool spool;
    Log log;
    Local local;
    std::vector<Listener> listeners; // never empty after parse()
    Relay relay;
    Addresses addresses;
    std::vector<PolicyService> policies; // in the order of their names
    std::vector<DnsList> dns_lists;
    std::vector<Milter> milters;           // in the order of their names
    Content content;
    Copies copies;
    std::vector<Pool> pools;               // in the order of their names
    Pools pool_choice;
    Idempotency idempotency;
    Suppression suppression;
    std::vector<decide::RouteRule> routes; // as written; decide::RouteTable compiles them
    std::vector<decide::SigningRule> signing; // [dkim."<domain>"]
    Dns dns;
    Tls tls;
    Auth auth;
    decide::queue::Settings queue;
    SmtpClient smtp_client;
    Smtpd smtpd;
    Submit submit;
    Bounce bounce;
    TlsReports tls_reports;
    Master master;
    Metrics metrics;
    Testing testing;
    std::vector<LookupTable> tables;             // [table.<name>]
    std::vector<TableReference> tables_named; // by keys of other sections
    std::vector<FileReference> files;

    // Is `domain` (lower case, as the DNS has it: idn::ascii_domain) one of local.domains / relay.domains?
    bool is_local(std::string_view domain) const;
    bool is_relay(std::string_view domain) const;
    // Of a domain in the same form.
    decide::AddressClass class_of(std::string_view domain) const;
    const Pool* pool(std::string_view name) const; // null: none of that name
};

struct Problem {
    std::string file;
    std::uint32_t line = 0, column = 0; // from 1; 0: the file as a whole
    std::string message;                // "unknown key smtpd.worker: did you mean workers?"
    std::string to_string() const;      // "postrider.toml:3:1: unknown key …"
    bool operator==(const Problem&) const = default;
};

// What parse() asks of the machine; a test brings its own.
struct System {
    std::string hostname; // as gethostname(2) says it
    std::string user;     // who runs this: the one user of single-user mode
    std::uint32_t processors = 1;
    std::string mailname = {}; // what /etc/mailname says, as written; "" there is no such file
    static System here();
};

// Is that, as /etc/mailname may have it, a domain name at all?
bool names_a_domain(std::string_view text);

// All problems at once, in the order of the file. Relative paths in it are taken from the directory `file` is
// in.
std::expected<Config, std::vector<Problem>> parse(std::string_view text, std::string_view file,
                                                  const System& system = System::here());
// Reads and parses; that the file cannot be read, or files it names are missing, is a Problem too.
std::expected<Config, std::vector<Problem>> load(const std::string& file,
                                                 const System& system = System::here());
// The file's text; a problem says why it cannot be had and what to do.
std::expected<std::string, Problem> read_text(const std::string& file);
// Reads and parses, whether the files it names are there or not.
std::expected<Config, std::vector<Problem>> parse_file(const std::string& file,
                                                       const System& system = System::here());
// What load() adds to both, for who has the text already.
std::vector<Problem> missing_files(const Config& config);

// The annotated sample (conf/postrider.toml) and the manual's page (man/postrider.toml.5), made from the same
// table.
std::string sample();
std::string manual();

} // namespace config
