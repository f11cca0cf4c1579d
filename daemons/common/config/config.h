// The whole configuration: plain structs with defaults, one per section of postrider.toml. Filled once by parse()
// (load.h), then passed by const reference. Only those who hand out its sections include this; others take the struct
// of the section that they need (sections/), or pass a reference on (fwd.h). Knows no file system and no TOML library
// (parse.cpp does). What each key means to an operator is written once, in the key table beside its section.
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
#include "daemons/common/config/sections/recipients/mail_command.h"
#include "daemons/common/config/sections/server/access.h"
#include "daemons/common/config/sections/server/auth.h"
#include "daemons/common/config/sections/server/client_tests.h"
#include "daemons/common/config/sections/server/filters.h"
#include "daemons/common/config/sections/server/idempotency.h"
#include "daemons/common/config/sections/server/listener.h"
#include "daemons/common/config/sections/server/relay.h"
#include "daemons/common/config/sections/server/sender_rules.h"
#include "daemons/common/config/sections/server/smtpd.h"
#include "daemons/common/config/sections/server/submit.h"
#include "daemons/common/config/sections/server/tls.h"
#include "daemons/common/config/sections/server/verify.h"
#include "daemons/common/config/sections/system/fleet.h"
#include "daemons/common/config/sections/system/history.h"
#include "daemons/common/config/sections/system/hook.h"
#include "daemons/common/config/sections/system/http.h"
#include "daemons/common/config/sections/system/log.h"
#include "daemons/common/config/sections/system/master.h"
#include "daemons/common/config/sections/system/metrics.h"
#include "daemons/common/config/sections/system/mta.h"
#include "daemons/common/config/sections/system/node.h"
#include "daemons/common/config/sections/system/spool.h"
#include "daemons/common/config/sections/system/testing.h"
#include "daemons/decide/message/signing.h"
#include "daemons/decide/queue/settings.h"
#include "daemons/decide/routing/routing.h"
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace decide {
class DomainClasses;
}

namespace config {

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
    History history;
    std::vector<Hook> hooks; // in the order of their names
    std::vector<Node> nodes; // likewise
    Fleet fleet;
    Log log;
    Local local;
    std::vector<Listener> listeners; // never empty after parse()
    Relay relay;
    Addresses addresses;
    std::vector<PolicyService> policies; // in the order of their names
    std::vector<DnsList> dns_lists;
    ClientTests client_tests;
    Verify verify;
    std::vector<AccessRules> access; // in the order of their names
    std::vector<AccessClass> access_classes;
    std::vector<Milter> milters; // in the order of their names
    Content content;
    AutomaticBcc automatic_bcc;
    std::vector<Pool> pools; // in the order of their names
    Pools pool_choice;
    SenderRules sender_rules;
    Idempotency idempotency;
    Suppression suppression;
    std::vector<decide::RouteRule> routes;    // as written; decide::RouteTable compiles them
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
    Http http;
    Testing testing;
    std::vector<MailCommand> commands;            // [command.<name>]
    std::vector<LookupTable> tables;              // [table.<name>]
    std::vector<TableReference> table_references; // by keys of other sections
    std::vector<FileReference> files;

    decide::DomainClasses domain_classes() const;
    const Pool* pool(std::string_view name) const; // null: none of that name
};

} // namespace config
