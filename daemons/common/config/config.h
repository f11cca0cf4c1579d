// The configuration as every daemon sees it: plain structs with defaults, one per section
// of postrider.toml. Filled once by parse(), which rejects unknown keys, then passed by
// const reference. Knows no file system and no TOML library (parse.cpp does). The meaning
// of each key for an operator is written once, in the key table beside its section.
#pragma once
#include "daemons/common/config/sections/delivery/bounce.h"
#include "daemons/common/config/sections/delivery/dns.h"
#include "daemons/common/config/sections/delivery/pools.h"
#include "daemons/common/config/sections/delivery/smtp_client.h"
#include "daemons/common/config/sections/delivery/suppression.h"
#include "daemons/common/config/sections/delivery/tls_reports.h"
#include "daemons/common/config/sections/recipients/addresses.h"
#include "daemons/common/config/sections/recipients/local.h"
#include "daemons/common/config/sections/recipients/local_delivery.h"
#include "daemons/common/config/sections/recipients/lookup.h"
#include "daemons/common/config/sections/server/auth.h"
#include "daemons/common/config/sections/server/filters.h"
#include "daemons/common/config/sections/server/idempotency.h"
#include "daemons/common/config/sections/server/listener.h"
#include "daemons/common/config/sections/server/relay.h"
#include "daemons/common/config/sections/server/smtpd.h"
#include "daemons/common/config/sections/server/submit.h"
#include "daemons/common/config/sections/server/tls.h"
#include "daemons/common/config/sections/system/log.h"
#include "daemons/common/config/sections/system/master.h"
#include "daemons/common/config/sections/system/metrics.h"
#include "daemons/common/config/sections/system/mta.h"
#include "daemons/common/config/sections/system/spool.h"
#include "daemons/common/config/sections/system/testing.h"
#include "daemons/decide/addressing/address_class.h"
#include "daemons/decide/message/signing.h"
#include "daemons/decide/queue/settings.h"
#include "daemons/decide/routing/routing.h"
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace config {

inline constexpr std::size_t max_config_size = 4 * MiB; // of a configuration

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
    AutomaticBcc automatic_bcc;
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
    std::vector<TableReference> table_references; // by keys of other sections
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
bool is_domain_name(std::string_view text);

// All problems at once, in the order of the file. Relative paths in it are taken from the directory `file` is
// in.
std::expected<Config, std::vector<Problem>> parse(std::string_view text, std::string_view file,
                                                  const System& system = System::here());
// Reads and parses; that the file cannot be read, or files it names are missing, is a Problem too.
std::expected<Config, std::vector<Problem>> load(const std::string& file,
                                                 const System& system = System::here());
// The file's text; a problem says why it cannot be read and what to do.
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
