// What a configuration is refused for, with its place and what was probably meant.
#include "daemons/common/config/load.h"
#include "daemons/common/text/units.h"
#include "tests/common/config/reading.h"
#include <algorithm>
#include <fmt/format.h>

using namespace std::chrono_literals;
using namespace config::testing;
using config::Config;

TEST_CASE("each kind of mistake is refused with its place and what was probably meant") {
    struct Row {
        const char *text, *problem;
    } rows[] = {
        {"[smtpd]\nworker = 1", "f.toml:2:1: unknown key smtpd.worker: did you mean workers?"},
        {"[smtpd]\n  final_dot_timeout = \"1s\"",
         "f.toml:2:3: unknown key smtpd.final_dot_timeout: did you mean smtp_client.final_dot_timeout?"},
        {"[smtp]\nworkers = 1", "f.toml:1:2: unknown section smtp: did you mean [smtpd]?"},
        {"[command.x]\nrun = [\"prog\"]\nuser = \"list\"",
         "f.toml:2:1: command.x.run: expected the absolute path of a program first"},
        {"[command.x]\nuser = \"list\"", "f.toml:1:10: command.x: required key \"run\" is missing"},
        {"[command.x]\nrun = [\"/bin/x\", \"{mailbox}\"]",
         "f.toml:2:18: command.x.run: \"{mailbox}\" has no meaning: expected {recipient}, {original_recipient}, "
         "{sender}, {local}, {user}, {extension}, {domain}, {queue_id} or {size}"},
        {"[command.discard]\nrun = [\"/bin/x\"]\nuser = \"list\"",
         "f.toml:1:10: command.discard: \"discard\" has a meaning of its own in transport tables: choose another name"},
        {"[virtual_mailbox]\ndeliver = \"command:x\"", "f.toml:2:1: virtual_mailbox.deliver: there is no [command.x]"},
        {"hostname = 1", "f.toml:1:1: unknown key hostname outside of all sections: did you mean mta.hostname?"},
        {"mta = 1", "f.toml:1:7: mta: expected a section [mta], found an integer"},
        {"[mta]\nmulti_user = \"no\"", "f.toml:2:14: mta.multi_user: expected true or false, found a string"},
        {"[mta]\nhostname = \"box\"",
         "f.toml:2:12: mta.hostname: \"box\" is not a fully qualified host name: expected one such as "
         "\"mail.example.com\""},
        {"[smtpd]\nworkers = 0", "f.toml:2:11: smtpd.workers: 0 is out of range: expected 1 to 64"},
        {"[smtpd]\nworkers = -1", "f.toml:2:11: smtpd.workers: -1 is out of range: expected 1 to 64"},
        {"[smtpd]\nworkers = 1.5", "f.toml:2:11: smtpd.workers: expected an integer, found a floating-point number"},
        {"[smtpd]\nworkers = 9223372036854775807",
         "f.toml:2:11: smtpd.workers: 9223372036854775807 is out of range: expected 1 to 64"},
        {"[dns]\ntimeout = \"5 s\"", "f.toml:2:11: dns.timeout: \"5 s\" is not a valid duration: expected one such as "
                                     "\"60s\", \"10m\", \"5d\" or \"1h30m\""},
        {"[dns]\ntimeout = 5", "f.toml:2:11: dns.timeout: expected a duration such as \"60s\", found an integer"},
        {"[dns]\ntimeout = \"2h\"", "f.toml:2:11: dns.timeout: 2h is out of range: expected 100ms to 1m"},
        {"[dns]\nservers = [\"127.0.0.1:x\"]", "f.toml:2:12: dns.servers: \"127.0.0.1:x\" is not a valid address: "
                                               "expected one such as \"127.0.0.1:53\" or \"[::1]:53\""},
        {"[dns]\nservers = [1]", "f.toml:2:12: dns.servers: expected strings in quotation marks, found an integer"},
        {"[smtpd]\nmessage_size = \"10MB\"",
         "f.toml:2:16: smtpd.message_size: not a valid size: expected one such as \"50MiB\", \"100KiB\" or 4096"},
        {"[smtpd]\nmessage_size = \"8GiB\"", "f.toml:2:16: smtpd.message_size: out of range: expected 1KiB to 4GiB"},
        {"[relay]\nnetworks = [\"10.0.0.1/8\"]",
         "f.toml:2:13: relay.networks: \"10.0.0.1/8\" is not a "
         "valid network: expected one such as \"192.0.2.0/24\" or \"2001:db8::/32\" "
         "(bits beyond the prefix must be zero)"},
        {"[local]\nmailbox = \"/var/mail\"", "f.toml:2:11: local.mailbox: expected \"maildir:PATH\" or \"mbox:PATH\""},
        {"[local]\nmailbox = \"mbox:/m/{domain}\"",
         "f.toml:2:11: local.mailbox: only {user} and {home} are allowed in braces"},
        {"[table.x]\nkind = \"regexp\"", "f.toml:1:8: table.x: required key \"rules\" is missing"},
        {"[table.x]\nkind = \"union\"", "f.toml:1:8: table.x: required key \"tables\" is missing"},
        {"[table.x]\nkind = \"regexp\"\nrules = [\"/a/ b\", \"endif\"]",
         "f.toml:3:1: table.x.rules: \"endif\": \"endif\" without \"if\"; skipped"},
        {"[table.x]\nkind = \"cidr\"\nrules = [\"/a/ b\"]",
         "f.toml:3:1: table.x.rules: \"/a/ b\": \"/a/\" is not a network such as \"192.0.2.0/24\" or "
         "\"2001:db8::/32\" (bits beyond the prefix must be zero); skipped"},
        {"[table.x]\nkind = \"regexp\"\nrules = [\" /a/ b\"]",
         "f.toml:3:10: table.x.rules: \" /a/ b\": expected a rule such as \"/pattern/ value\""},
        {"[table.x]\nkind = \"regexp\"\nrules = [\"/a/ b\"]\n[relay]\nrecipients = [\"table:x\"]",
         "f.toml:5:15: relay.recipients: \"table:x\": [table.x] has patterns as its keys: write \"patterns:x\""},
        {"[table.x]\nkind = \"union\"\ntables = [\"table:y\"]\n[table.y]\nkind = \"entries\"\nentries = [\"a b\"]\n"
         "[relay]\nrecipients = [\"patterns:x\"]",
         "f.toml:8:15: relay.recipients: \"patterns:x\": [table.x] has no patterns as its keys: write \"table:x\""},
        {"[table.x]\nkind = \"union\"\ntables = [\"static:a\", \"table:x\"]",
         "f.toml:3:1: table.x.tables: the table contains itself"},
        {"[table.x]\nkind = \"union\"\ntables = [\"table:y\"]\n[table.y]\nkind = \"chain\"\ntables = [\"table:y\"]",
         "f.toml:6:1: table.y.tables: the table contains itself"},
        {"[table.x]\nkind = \"union\"\ntables = [\"table:y\"]\n[table.y]\nkind = \"chain\"\ntables = [\"table:x\"]",
         "f.toml:3:1: table.x.tables: the table contains itself"},
        {"[table.net]\nkind = \"cidr\"\nrules = [\"192.0.2.0/24 x\"]\n[relay]\ndomain_tables = [\"patterns:net\"]",
         "f.toml:5:18: relay.domain_tables: \"patterns:net\" has networks as its keys, which match no domain"},
        {"[table.u]\nkind = \"union\"\ntables = [\"cidr:/x\"]\n[relay]\ndomain_tables = [\"patterns:u\"]",
         "f.toml:5:18: relay.domain_tables: \"patterns:u\" has networks as its keys, which match no domain"},
        {"[content]\nheader_checks = [\n\"if /a/\",\n\"/b/ HOLD\",\n\"endif\",\n\"endif\"]",
         "f.toml:6:1: content.header_checks: \"endif\" without \"if\""},
        {"[content]\nbody_checks = [\n\"if /a/\",\n\"if /b/\",\n\"endif\"]",
         "f.toml:2:15: content.body_checks: \"if /a/\" without \"endif\""},
        {"[local]\ndomains = [\"a.example\", \"A.example\"]",
         "f.toml:2:25: local.domains: \"A.example\" is listed twice"},
        {"[local]\ndomains = \"a.example\"\n[relay]\ndomains = \"a.example\"",
         "f.toml:4:1: relay.domains: a.example is also in local.domains"},
        {"[relay]\ndomain_tables = [\"hash:/x\"]",
         "f.toml:2:18: relay.domain_tables: \"hash:/x\": table type hash is not supported; write \"text:FILE\", or "
         "\"lmdb:FILE\" after \"postrider map FILE\""},
        {"[local]\ndomain_tables = [\"table:none\"]", "f.toml:2:18: local.domain_tables: there is no [table.none]"},
        {"[local]\ndomain_tables = [\"cidr:/x\"]",
         "f.toml:2:18: local.domain_tables: \"cidr:/x\" has networks as its keys, which match no domain"},
        {"[virtual_alias]\ndomain_tables = [\"text:/x\"]",
         "f.toml:2:1: virtual_alias.domain_tables: virtual_alias.tables is missing: without it, these domains have no "
         "addresses"},
        {"[virtual_mailbox]\ndomain_tables = [\"text:/x\"]",
         "f.toml:2:1: virtual_mailbox.domain_tables: virtual_mailbox.deliver is missing: set where mail for these "
         "domains is delivered"},
        {"[log]\nlevel = \"loud\"",
         "f.toml:2:9: log.level: \"loud\" is not a valid value: expected one of \"error\", \"warning\", \"info\", "
         "\"debug\""},
        {"[listen]\naddresses = []", "f.toml:2:1: listen.addresses is outside of a section: expected [listen.<name>]"},
        {"[listen.a]\nservice = \"relay\"", "f.toml:1:9: listen.a: required key \"addresses\" is missing"},
        {"[listen.local]\naddresses = \"*:25\"",
         "f.toml:1:9: listen.local: \"local\" is reserved for mail from programs on this host: choose another name"},
        {"[access.a]\nclient = [\"permit\", \"rejct\"]",
         "f.toml:2:1: access.a.client: \"rejct\" is not a rule, and there is no [access_class.rejct]"},
        {"[access.a]\nclient = [\"check_client_access hash:/x\"]",
         "f.toml:2:11: access.a.client: check_client_access hash:/x: \"hash:/x\": table type hash is not supported; "
         "write \"text:FILE\", or \"lmdb:FILE\" after \"postrider map FILE\""},
        {"[access.a]\nclient = [\"check_client_access table:none\"]",
         "f.toml:2:1: access.a.client: there is no [table.none]"},
        {"[access.a]\nclient = [\"check_policy_service b\"]", "f.toml:2:1: access.a.client: there is no [policy.b]"},
        {"[access.a]\nsender = [\"reject_known_sender_login_mismatch\"]",
         "f.toml:2:1: access.a.sender: \"reject_known_sender_login_mismatch\" needs auth.sender_login_tables, which "
         "say "
         "who owns a sender"},
        {"[access.a]\nlisteners = [\"b\"]", "f.toml:2:1: access.a.listeners: there is no [listen.b]"},
        {"[access.a]\n[access.b]", "f.toml:2:9: access.b: listeners is missing: [access.a] has none either"},
        {"[access.a]\nlisteners = [\"smtp\"]\n[access.b]\nlisteners = [\"smtp\"]\n"
         "[listen.smtp]\naddresses = [\"[::]:25\"]",
         "f.toml:4:1: access.b.listeners: smtp has the rules of [access.a]"},
        {"[access_class.a]\nrules = [\"b\"]\n[access_class.b]\nrules = [\"a\"]",
         "f.toml:2:1: access_class.a.rules: the class contains itself\n"
         "f.toml:4:1: access_class.b.rules: the class contains itself"},
        {"[access_class.reject]\nrules = []",
         "f.toml:1:15: access_class.reject: not a valid name of a class: expected lower-case letters, digits, "
         "\"-\" and \"_\", and not the name of a rule"},
        {"[access_class.A]\nrules = []",
         "f.toml:1:15: access_class.A: not a valid name of a class: expected lower-case letters, digits, "
         "\"-\" and \"_\", and not the name of a rule"},
        {"[policy.a]\naddress = \"unix:/x\"\nlisteners = \"local\"",
         "f.toml:3:1: policy.a.listeners: there is no [listen.local]"},
        {"[milter.a]\naddress = \"unix:/x\"\nlisteners = [\"local\", \"b\"]",
         "f.toml:3:1: milter.a.listeners: there is no [listen.b]"},
        {"[milter.a]\naddress = "
         "\"unix:/xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"",
         "f.toml:2:11: milter.a.address: socket path too long: expected at most 4095 bytes, of these at most 80 in its "
         "last part"},
        {"[dkim.\"a.example\"]\nsign = [\"local\"]",
         "f.toml:1:7: dkim.\"a.example\": required key \"keys\" is missing"},
        {"[dkim.\"a.example\"]\nkeys = []", "f.toml:1:7: dkim.\"a.example\": required key \"keys\" is missing"},
        {"[dkim.\"a.example\"]\nkeys = \"/key.pem\"",
         "f.toml:2:8: dkim.\"a.example\".keys: \"/key.pem\": expected a selector and a file, such as "
         "\"s1 /etc/postrider/dkim/example.com.pem\""},
        {"[dkim.\"a.example\"]\nkeys = \"s /k\"\nsign = \"everybody\"",
         "f.toml:3:8: dkim.\"a.example\".sign: \"everybody\" is not a valid value: expected one of \"local\", "
         "\"submission\", \"authenticated\", \"networks\", \"reports\", \"other\""},
        {"[dkim.\"a.example\"]\nkeys = \"s /k\"\n[dkim.\"A.example\"]\nkeys = \"s /k\"",
         "f.toml:1:7: duplicate section for a.example"},
        {"[content]\nheader_checks = ['/a/ REJECT', '/(/ REJECT']",
         "f.toml:2:32: content.header_checks: \"/(/ REJECT\": missing closing parenthesis at 1"},
        {"[automatic_bcc]\nalways = \"nobody\"",
         "f.toml:2:10: automatic_bcc.always: \"nobody\" is not a valid address: domain is missing"},
        {"[automatic_bcc]\nby_sender = [\"ann@example.org\"]",
         "f.toml:2:14: automatic_bcc.by_sender: \"ann@example.org\": expected a sender or recipient, and the address "
         "that "
         "gets the copy, such as \"ann@example.com archive@example.com\""},
        {"[automatic_bcc]\nby_recipient = [\"ann x@example.org\"]",
         "f.toml:2:17: automatic_bcc.by_recipient: \"ann\" is not a valid address or \"@domain\""},
        {"[automatic_bcc]\nby_sender = [\"@a.example b@c.example\", \"@A.example d@c.example\"]",
         "f.toml:2:40: automatic_bcc.by_sender: \"@A.example\" is listed twice"},
        {"[listen.a]\naddresses = \"*:25\"\n[listen.b]\naddresses = \"*:25\"",
         "f.toml:4:1: listen.b.addresses: [::]:25 is used by another listener"},
        {"[retry.exchange]",
         "f.toml:1:8: retry.exchange: \"exchange\" is reserved for the retry schedule of [queue]: choose another name"},
        {"[retry.a]\nkind = \"steps\"", "f.toml:1:8: retry.a: required key \"steps\" is missing"},
        {"[route.\"a.example\"]\nnext_hop = \"mx\"\nretry_policy = \"b\"",
         "f.toml:3:1: route.\"a.example\".retry_policy: there is no [retry.b]"},
        {"[route.\"a.example\"]\nnext_hop = \"mx\"\nreply_overrides = [\"550 is fine\"]",
         "f.toml:3:20: route.\"a.example\".reply_overrides: \"550 is fine\" is not a valid rule: expected one such "
         "as \"550 5.7.1 at MAIL is temporary\""},
        {"[route.\"a.example\"]", "f.toml:1:8: route.\"a.example\": required key \"next_hop\" is missing"},
        {"[route.\"a.example\"]\nnext_hop = []", "f.toml:2:12: route.\"a.example\".next_hop: the list is empty"},
        {"[route.\"a.example\"]\nnext_hop = \"192.0.2.1\"",
         "f.toml:2:12: route.\"a.example\".next_hop: an address must be in brackets: \"[192.0.2.1]:25\""},
        {"[route.\"a.example\"]\nnext_hop = \"[x\"",
         "f.toml:2:12: route.\"a.example\".next_hop: \"[x\" is not a valid next hop: expected \"[host]:port\", "
         "\"name\", \"mx\" or \"srv:name\""},
        {"[route.mail.example.com]\nnext_hop = \"mx\"\n[route.a.example]\n[route.a.org]",
         "f.toml:1:8: route.mail.example.com: a name with dots must be in quotation marks: "
         "[route.\"mail.example.com\"]\n"
         "f.toml:3:8: route.a.example: a name with dots must be in quotation marks: [route.\"a.example\"]"},
        {"[dkim.a.example]\nkeys = \"s /k\"",
         "f.toml:1:7: dkim.a.example: a name with dots must be in quotation marks: [dkim.\"a.example\"]"},
        {"[route.\"a.example\"]\nnext_hop = \"mx\"\nfallback = [\"[b]\", \"lmtp:[c]\"]",
         "f.toml:3:20: route.\"a.example\".fallback: \"lmtp:[c]\": a fallback host must use SMTP, as the MX hosts "
         "before it do"},
        {"[route.\"a.example\"]\nnext_hop = \"[b]:465\"\nimplicit_tls = true\ntls = \"none\"",
         "f.toml:4:1: route.\"a.example\".tls: \"none\" contradicts implicit_tls = true"},
        {"[route.\"a.example\"]\nnext_hop = \"lmtp:/run/lmtp\"\nimplicit_tls = true",
         "f.toml:3:1: route.\"a.example\".implicit_tls: not allowed for a socket on this host"},
        {"[route.\"a.example\"]\nnext_hop = \"[b]\"\nauth = \"CRAM-MD5\"",
         "f.toml:3:8: route.\"a.example\".auth: \"CRAM-MD5\" is not a valid mechanism: expected \"no\" or one of "
         "SCRAM-SHA-256-PLUS, SCRAM-SHA-256, PLAIN, LOGIN, OAUTHBEARER, XOAUTH2"},
        {"[route.\"a.example\"]\nnext_hop = \"[b]\"\nauth = [\"PLAIN\", \"no\"]",
         "f.toml:3:18: route.\"a.example\".auth: \"no\" cannot be combined with other values"},
        {"[dns]\ntrust_ad = false\n[route.\"a.example\"]\nnext_hop = \"mx\"\ntls = \"dane-only\"",
         "f.toml:5:1: route.\"a.example\".tls: \"dane-only\" requires dns.trust_ad = true"},
        {"[dns]\ntrust_ad = false\n[smtp_client]\ntls = \"dane-only\"",
         "f.toml:4:1: smtp_client.tls: \"dane-only\" requires dns.trust_ad = true"},
        {"[pools.bulk]\naddresses = \"192.0.2.1\"",
         "f.toml:1:8: unknown section pools.bulk: did you mean [pool.bulk]?"},
        {"[route.\"a.example\"]\nnext_hop = [\"mx\", \"[x]\"]",
         "f.toml:2:1: route.\"a.example\".next_hop: several next hops must all be hosts in brackets"},
        {"[route.\"-\"]\nnext_hop = \"mx\"",
         "f.toml:1:8: route.\"-\": not a valid pattern: expected a domain, \".domain\" or \"*\""},
        {"[route.\"a.example\"]\nnext_hop = \"mx\"\n[route.\"A.example\"]\nnext_hop = \"mx\"",
         "f.toml:3:8: duplicate route for a.example"},
        {"[pool.bulk]", "f.toml:1:7: pool.bulk: required key \"addresses\" is missing"},
        {"[pool.bulk]\naddresses = []", "f.toml:1:7: pool.bulk: required key \"addresses\" is missing"},
        {"[pool.\"a b\"]\naddresses = [\"192.0.2.1\"]",
         "f.toml:1:7: pool.a b: not a valid pool name: expected letters, digits, \"-\" and \"_\", at most 64"},
        {"[pool.bulk]\naddresses = [\"mx.example.com\"]",
         "f.toml:2:14: pool.bulk.addresses: \"mx.example.com\": \"mx.example.com\" is not a valid IP address"},
        {"[pool.bulk]\naddresses = [\"0.0.0.0\"]",
         "f.toml:2:14: pool.bulk.addresses: \"0.0.0.0\": expected a single address of this host"},
        {"[pool.bulk]\naddresses = [\"192.0.2.1 mx 3\"]",
         "f.toml:2:14: pool.bulk.addresses: \"192.0.2.1 mx 3\": \"mx\" is not a fully qualified host name: expected "
         "one such as \"mx1.example.com\""},
        {"[pool.bulk]\naddresses = [\"192.0.2.1 mx.example.com 0\"]",
         "f.toml:2:14: pool.bulk.addresses: \"192.0.2.1 mx.example.com 0\": \"0\" is not a valid weight: expected an "
         "integer from 1 to 1000"},
        {"[pool.bulk]\naddresses = [\"192.0.2.1 mx.example.com 1 2\"]",
         "f.toml:2:14: pool.bulk.addresses: \"192.0.2.1 mx.example.com 1 2\": expected \"address name weight\""},
        {"[pool.bulk]\naddresses = [\"192.0.2.1 a.example.com\", \"192.0.2.1 b.example.com\"]",
         "f.toml:2:1: pool.bulk.addresses: 192.0.2.1 is listed twice"},
        {"[smtp_client]\nipv6 = false\n[pool.bulk]\naddresses = [\"2001:db8::1\"]",
         "f.toml:4:1: pool.bulk.addresses: smtp_client.ipv4 or ipv6 disables all of them"},
        {"[route.\"a.example\"]\nnext_hop = \"mx\"\npool = \"bulk\"",
         "f.toml:3:1: route.\"a.example\".pool: there is no [pool.bulk]"},
        {"[pools]\nby_sender = [\"@a.example bulk\"]", "f.toml:2:1: pools.by_sender: there is no [pool.bulk]"},
        {"[pools]\nby_sender = [\"@a.example\"]",
         "f.toml:2:14: pools.by_sender: \"@a.example\": expected a sender and a pool, such as \"@example.com bulk\""},
        {"[pools]\nby_sender = [\"a bulk\"]",
         "f.toml:2:14: pools.by_sender: \"a\" is not a valid address or \"@domain\""},
        {"[smtpd]\nsoft_errors = 30", "f.toml:2:1: smtpd: soft_errors must not exceed hard_errors"},
        {"[master]\nheartbeat_timeout = \"5s\"",
         "f.toml:2:1: master: heartbeat_timeout must be longer than heartbeat_interval"},
        {"[smtpd]\nworkers = 0\nsessions = \"many\"\n[dsn]",
         "f.toml:2:11: smtpd.workers: 0 is out of range: expected 1 to 64\n"
         "f.toml:3:12: smtpd.sessions: expected an integer, found a string\n"
         "f.toml:4:2: unknown section dsn: did you mean [dns]?"},
    };
    for (const auto& row : rows) CHECK(bad(row.text) == row.problem);
}

TEST_CASE("what the importer left undecided is refused line by line, until the lines are deleted") {
    const auto said = bad("[undecided]\n# from Postfix\n\"main.cf:7 body_checks = pcre:/x\" = \"not examined.\"\n"
                          "other = 1\n");
    CHECK(said == "f.toml:3:1: undecided: main.cf:7 body_checks = pcre:/x: not examined. Delete this line when you "
                  "have decided\n"
                  "f.toml:4:1: undecided: other: . Delete this line when you have decided");
    good("[undecided]\n");
}

TEST_CASE("what is not TOML is refused with its place") {
    CHECK(bad("[mta]\nmulti_user = false\nmulti_user = true").starts_with("f.toml:3:"));
    CHECK(bad("[mta]\n[mta]").starts_with("f.toml:2:"));
    CHECK(bad("[mta\n").starts_with("f.toml:1:"));
    CHECK(bad("[mta]\nhostname = mail").starts_with("f.toml:2:"));
    CHECK(bad(std::string_view("a = \"\0\"", 8)).starts_with("f.toml:1:"));
    CHECK(bad("\xff\xfe").starts_with("f.toml:"));
    CHECK(bad(std::string(5 << 20, ' ')) == "f.toml: larger than 4MiB: not a configuration");
    CHECK(bad("x = " + std::string(100000, '[')).starts_with("f.toml:1:"));
}

TEST_CASE("a missing file is a problem") {
    const auto none = config::load("/nonexistent/postrider.toml");
    REQUIRE(!none);
    CHECK(
        none.error()[0].to_string().starts_with("/nonexistent/postrider.toml: No such file or directory: use -c FILE"));
    const auto c = good("[local]\naliases = [\"/nonexistent/aliases\"]");
    const auto missing = config::missing_files(c);
    REQUIRE(missing.size() == 1);
    CHECK(missing[0].to_string() ==
          "/etc/p/postrider.toml:2:1: local.aliases: /nonexistent/aliases: No such file or directory");
    const auto passwords = config::missing_files(good("[auth]\npasswords = \"/nonexistent/passwords\""));
    REQUIRE(passwords.size() == 1);
    CHECK(passwords[0].message == "auth.passwords: /nonexistent/passwords: No such file or directory; "
                                  "create it with \"postrider passwd USER\"");
    CHECK(config::missing_files(good("")).empty());
}

TEST_CASE("a node that moves messages to others has a name that does not change with the host's") {
    const std::string other = "[node.mx2]\nurl = \"https://mx2.example:9587\"\ntoken_file = \"/t\"\n";
    CHECK(bad(other) == "f.toml:1:7: node.mx2: set mta.node, the name of this node: other nodes know by it which "
                        "messages they have, so that it must not change with the host's name");
    CHECK(good("[mta]\nnode = \"mx1\"\n" + other).mta.node == "mx1");
    CHECK(good("").mta.node == "mail.example.com");
    const std::string wrong = "f.toml:2:8: mta.node: expected one word of at most 255 ASCII characters, without "
                              "\":\" and \"[\"";
    for (const auto& name : {std::string(), std::string("m x"), std::string("m\u00fc"), std::string(256, 'x')})
        CHECK(bad("[mta]\nnode = \"" + name + "\"") == wrong);
}

TEST_CASE("certificates for servers without their keys, or without TLS, are refused") {
    const std::string route = "[route.\"a.test\"]\nnext_hop = \"mx\"\n";
    CHECK(bad("[smtp_client]\ntls_certificates = [\"/a\", \"/b\"]\ntls_keys = [\"/k\"]\n") ==
          "f.toml:3:1: smtp_client.tls_keys: expected one for each of smtp_client.tls_certificates, in the same order");
    CHECK(bad(route + "tls_keys = [\"/k\"]\n") ==
          "f.toml:3:1: route.\"a.test\".tls_keys: expected one for each of route.\"a.test\".tls_certificates, which is "
          "missing, in the same order");
    CHECK(bad(route + "tls = \"none\"\ntls_certificates = [\"/a\"]\n") ==
          "f.toml:4:1: route.\"a.test\".tls_certificates: tls = \"none\" uses no TLS, so none is shown");
    CHECK(bad("[smtp_client]\ntls_certificates = [\"\"]\n") ==
          "f.toml:2:21: smtp_client.tls_certificates: expected a file name");
}

TEST_CASE("client certificates that nobody asks for, or that could not be demanded, are refused") {
    CHECK(bad("[relay]\nclient_certificates = [\"text:/c\"]\n") ==
          "f.toml:2:1: relay.client_certificates: no listener asks clients for certificates: set client_certificates = "
          "true in a [listen.NAME]");
    const std::string asks = "[tls]\ncertificates = [\"/c\"]\n[listen.a]\naddresses = [\"*:25\"]\n"
                             "client_certificates = true\n";
    CHECK(good(asks + "[relay]\nclient_certificates = [\"text:/c\"]\n").relay.client_certificates.size() == 1);
    CHECK(bad(asks + "[relay]\nverified_client_certificates = true\n").find("tls.client_ca_file is not set") !=
          std::string::npos);
    const auto said = bad(asks + "client_certificate_required = true\n");
    CHECK(said.find("clients could do without TLS") != std::string::npos);
    CHECK(said.find("no certificate would do") != std::string::npos);
    CHECK(good(asks + "client_certificate_required = true\ntls = \"require\"\n[relay]\n"
                      "client_certificates = [\"text:/c\"]\n")
              .listeners[0]
              .certificate_required);
}

TEST_CASE("rules for replies that are none are refused") {
    CHECK(bad("[smtp_client]\nreply_rules = [\"/x/ is odd\"]\n")
              .find("smtp_client.reply_rules: \"/x/ is odd\": expected") != std::string::npos);
}

TEST_CASE("ciphers that OpenSSL does not know are refused here, not by the daemons") {
    CHECK(bad("[smtp_client]\ntls_ciphers = \"FOO\"")
              .find("smtp_client.tls_ciphers: no TLS 1.2 cipher is "
                    "listed") != std::string::npos);
    CHECK(bad("[tls]\nciphers = \"HIHG\"").find("f.toml:2:") != std::string::npos);
    CHECK(good("[smtp_client]\ntls_ciphers = \"HIGH:!aNULL\"").smtp_client.tls_ciphers == "HIGH:!aNULL");
}

TEST_CASE("unions and chains that would be very many tables are refused") {
    const auto nested = [](int levels, int each) {
        std::string out = "[table.t0]\nkind = \"entries\"\nentries = [\"a b\"]\n";
        for (int i = 1; i <= levels; ++i) {
            out += fmt::format("[table.t{}]\nkind = \"{}\"\ntables = [", i, i % 2 ? "union" : "chain");
            for (int j = 0; j < each; ++j) out += fmt::format("\"table:t{}\", ", i - 1);
            out += "]\n";
        }
        return out;
    };
    CHECK(good(nested(5, 1)).tables.size() == 6);
    CHECK(good(nested(1, 50)).tables.size() == 2);
    CHECK(good(nested(4, 2)).tables.size() == 5); // 2 + 4 + 8 + 16
    CHECK(bad(nested(6, 1)) == "f.toml:21:1: table.t6.tables: tables are nested more than 5 levels deep");
    CHECK(bad(nested(60, 2)) == "f.toml:18:1: table.t5.tables: there are more than 50 tables in it, with those in the "
                                "tables listed");
    CHECK(bad(nested(2, 51)) ==
          "f.toml:6:1: table.t1.tables: there are more than 50 tables in it, with those in the tables listed");
}
