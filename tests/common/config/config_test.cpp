// What a configuration may say, what it means, and how each mistake in it is answered.
#include "daemons/common/config/load.h"
#include "daemons/common/text/units.h"
#include "tests/common/config/reading.h"
#include <algorithm>
#include <fmt/format.h>

using namespace std::chrono_literals;
using namespace config::testing;
using config::Config;

TEST_CASE("keys to sign with: selector and file, from the configuration's directory") {
    const auto c = good("[dkim.\"Bücher.example\"]\nkeys = [\"S1 a key.pem\", \"s2 /k2\"]\n"
                        "domains = [\".b.example\"]\nsign = [\"local\", \"reports\"]\nlifetime = \"10d\"\n");
    REQUIRE(c.signing.size() == 1);
    const auto& rule = c.signing[0];
    CHECK(rule.domain == "xn--bcher-kva.example");
    CHECK(rule.keys == std::vector<decide::SigningKeyName>{{"s1", "/etc/p/a key.pem"}, {"s2", "/k2"}});
    CHECK(rule.domains.contains(".b.example"));
    CHECK(rule.sign == (decide::MailOrigin::local | decide::MailOrigin::reports));
    CHECK(rule.lifetime == 240h);
    CHECK(c.files.back().path == "/k2");
}

TEST_CASE("access rules: lists in the words of Postfix, for the listeners that they name or for all that relay") {
    const auto c = good("[access.b]\nlisteners = [\"other\"]\nclient = [\"reject\"]\ndelay_reject = false\n"
                        "[access.a]\nclient = [\"permit_mynetworks\", \"check_client_access text:/t\"]\n"
                        "recipient = [\"strict\", \"check_policy_service grey\"]\n"
                        "[access_class.strict]\nrules = [\"check_sender_access regexp:/r\", \"reject\"]\n"
                        "[policy.grey]\naddress = \"unix:/g\"\n[local]\nrecipient_delimiter = \"-\"\n"
                        "[listen.smtp]\naddresses = [\"[::]:25\"]\n[listen.other]\naddresses = [\"[::]:26\"]\n"
                        "[listen.users]\naddresses = [\"[::]:27\"]\nservice = \"submission\"\ntls = \"no\"\n"
                        "submission_networks = [\"127.0.0.1\"]\n");
    const auto rules_of = [&](std::string_view name) {
        const auto found = std::ranges::find(c.listeners, name, &config::Listener::name);
        REQUIRE(found != c.listeners.end());
        return config::access_rules_for(c.access, *found);
    };
    REQUIRE(rules_of("smtp"));
    CHECK(rules_of("smtp")->name == "a");
    REQUIRE(rules_of("other"));
    CHECK(rules_of("other")->name == "b");
    CHECK(!rules_of("users"));
    const auto set = config::rule_set(*rules_of("smtp"), c.access_classes, c.local.recipient_delimiter);
    using decide::access::List;
    CHECK(set.list(List::client).size() == 2);
    CHECK(set.list(List::helo).empty());
    CHECK(set.classes.at("strict").size() == 2);
    CHECK(set.recipient_delimiter == '-');
    CHECK(set.delay_reject);
    CHECK(!config::rule_set(*rules_of("other"), {}, "").delay_reject);
    REQUIRE(c.table_references.size() == 2);
    CHECK(c.table_references[0].table == "text:/t");
    CHECK(c.table_references[1].key == "access_class.strict.rules");
    CHECK(c.files.size() == 2); // which must be there
    CHECK(config::policy_services_in(c.access, c.access_classes) == std::set<std::string, std::less<>>{"grey"});
}

TEST_CASE("files that smtp-client reads are found from the configuration's directory, and looked for") {
    const auto c = good("[smtp_client]\ntls_ca_file = \"ca.pem\"\ncredentials = \"accounts\"\n");
    CHECK(c.smtp_client.tls_authorities == "/etc/p/ca.pem");
    REQUIRE(c.files.size() == 2);
    CHECK(c.files[0].path == "/etc/p/accounts");
    CHECK(c.files[1].path == "/etc/p/ca.pem");
    CHECK(good("").files.empty()); // the system's list of authorities need not be there
    CHECK(good("[smtp_client]\ntls_ca_file = \"\"\n").files.empty());
}

TEST_CASE("an empty file is a valid configuration") {
    const auto c = good("");
    CHECK(c.mta.hostname == "mail.example.com");
    CHECK(c.mta.origin == "mail.example.com");
    CHECK(c.smtp_client.helo == "mail.example.com");
    CHECK(c.local.domains == std::vector<std::string>{"mail.example.com", "mail", "localhost"});
    CHECK(c.local.users.empty());
    CHECK(c.local.postmaster == "root");
    CHECK(c.is_local("localhost"));
    CHECK(!c.is_local("example.com"));
    CHECK(!c.is_relay("example.com"));
    CHECK(common::contains(c.relay.networks, *common::IpAddress::parse("127.1.2.3")));
    CHECK(common::contains(c.relay.networks, *common::IpAddress::parse("::1")));
    CHECK(!common::contains(c.relay.networks, *common::IpAddress::parse("192.0.2.1")));
    REQUIRE(c.listeners.size() == 1);
    CHECK(c.listeners[0].addresses[0].to_string() == "[::]:25");
    CHECK(c.listeners[0].message_size == c.smtpd.message_size);
    CHECK(c.smtpd.workers == 2);
}

TEST_CASE("a name without a dot gets one") {
    CHECK(config::parse("", "f", {"box", "u", 1})->mta.hostname == "box.localdomain");
    CHECK(config::parse("", "f", {"", "u", 1})->mta.hostname == "localhost.localdomain");
}

TEST_CASE("what this system is called, and who says so") {
    using enum config::NameSource;
    struct Case {
        std::string_view text, system, mailname;
        std::string_view hostname, origin;
        config::NameSource hostname_from, origin_from;
        std::vector<std::string> local;
    };
    const Case cases[] = {
        {"",
         "box",
         "",
         "box.localdomain",
         "box.localdomain",
         system,
         hostname,
         {"box.localdomain", "box", "localhost"}},
        {"",
         "box",
         "Example.com",
         "example.com",
         "example.com",
         mailname,
         mailname,
         {"example.com", "box", "localhost"}},
        {"",
         "mx.example.com",
         "example.com",
         "example.com",
         "example.com",
         mailname,
         mailname,
         {"example.com", "mx", "localhost"}},
        {"", "", "box", "box.localdomain", "box.localdomain", mailname, mailname, {"box.localdomain", "localhost"}},
        {"hostname = \"mx.example.org\"",
         "box",
         "",
         "mx.example.org",
         "mx.example.org",
         configuration,
         hostname,
         {"mx.example.org", "box", "localhost"}},
        {"hostname = \"mx.example.org\"",
         "box",
         "example.org",
         "mx.example.org",
         "example.org",
         configuration,
         mailname,
         {"mx.example.org", "example.org", "box", "localhost"}},
        {"origin = \"example.net\"",
         "box",
         "example.org",
         "example.org",
         "example.net",
         mailname,
         configuration,
         {"example.org", "box", "localhost"}},
        {"hostname = \"mx.example.org\"\norigin = \"example.net\"",
         "box",
         "example.com",
         "mx.example.org",
         "example.net",
         configuration,
         configuration,
         {"mx.example.org", "box", "localhost"}},
        {"",
         "box",
         "no name!",
         "box.localdomain",
         "box.localdomain",
         system,
         hostname,
         {"box.localdomain", "box", "localhost"}},
    };
    for (const auto& [text, system_name, mailname_text, hostname_wanted, origin_wanted, h, o, local] : cases) {
        CAPTURE(text);
        CAPTURE(mailname_text);
        const auto c = config::parse("[mta]\n" + std::string(text), "f",
                                     {std::string(system_name), "u", 1, std::string(mailname_text)});
        REQUIRE(c);
        CHECK(c->mta.hostname == hostname_wanted);
        CHECK(c->mta.origin == origin_wanted);
        CHECK(c->mta.hostname_from == h);
        CHECK(c->mta.origin_from == o);
        CHECK(c->local.domains == local);
    }
}

TEST_CASE("mail for the short name that programs call this host by is delivered here, unless it is said otherwise") {
    const auto local_of = [](std::string_view text, std::string_view system) {
        const auto c = config::parse(text, "f", {std::string(system), "u", 1, ""});
        REQUIRE(c);
        return c->local.domains;
    };
    using List = std::vector<std::string>;
    CHECK(local_of("", "VM") == List{"vm.localdomain", "vm", "localhost"});
    CHECK(local_of("", "vm.example.com") == List{"vm.example.com", "vm", "localhost"});
    CHECK(local_of("", "localhost") == List{"localhost.localdomain", "localhost"});
    CHECK(local_of("[local]\ndomains = [\"example.com\"]\n", "vm") == List{"example.com"});
    CHECK(local_of("[relay]\ndomains = [\"vm\"]\n", "vm") == List{"vm.localdomain", "localhost"});
    CHECK(local_of("[virtual_mailbox]\ndomains = [\"vm\"]\ndeliver = \"lmtp:[127.0.0.1]:24\"\n", "vm") ==
          List{"vm.localdomain", "localhost"});
}

TEST_CASE("everything can be set") {
    const auto c = good(R"(
[mta]
hostname = "MX.Example.org"
multi_user = false
[spool]
directory = "spool"
minimum_free = "1GiB"
[history]
directory = "journal"
sync = "1s"
[log]
file = ""
level = "debug"
[local]
domains = ["Example.org", "localhost"]
mailbox = "maildir:mail/{user}"
[smtpd]
messages_per_minute = 7
recipients_per_minute = 70
[listen.relay]
addresses = ["127.0.0.1:2525", "[::1]:2525"]
recipients = 5
messages_per_minute = 0
user_connections_per_minute = 3
proxy_networks = ["192.0.2.10"]
[listen.submission]
addresses = "*:2587"
service = "submission"
tls = "no"
submission_networks = ["10.0.0.0/8"]
[relay]
networks = []
domains = ["example.net", ".example.net"]
[route."unreachable.example"]
next_hop = "[127.0.0.1]:2526"
[route.".example.com"]
next_hop = [["[a.example]:25", "[B.example]"], "[2001:db8::1]:26"]
connections = 7
[route."*"]
next_hop = "relay.example.net"
[dns]
servers = ["127.0.0.1:5353", "::1"]
timeout = "1m"
[smtp_client]
final_dot_timeout = "1h30m"
[bounce]
dsn_full_content_limit = 1000
)");
    CHECK(c.mta.hostname == "mx.example.org");
    CHECK(c.local.users == std::vector<std::string>{"alice"});
    CHECK(c.local.postmaster == "alice");
    CHECK(c.spool.directory == "/etc/p/spool");
    CHECK(c.spool.minimum_free == 1024 * config::MiB);
    CHECK(c.history.enabled);
    CHECK(c.history.directory == "/etc/p/journal");
    CHECK(c.history.sync == std::chrono::seconds(1));
    CHECK(c.log.file.empty());
    CHECK(c.local.mailbox.path_for("bob", "/home/bob") == "/etc/p/mail/bob");
    CHECK(c.local.mailbox.format == config::MailboxFormat::maildir);
    REQUIRE(c.listeners.size() == 2);
    CHECK(c.listeners[0].addresses.size() == 2);
    CHECK(c.listeners[0].recipients == 5);
    CHECK(c.listeners[0].limits.messages_per_minute == 0); // its own; what it does not name is [smtpd]'s
    CHECK(c.listeners[0].limits.recipients_per_minute == 70);
    CHECK(c.listeners[0].limits.user_connections_per_minute == 3);
    CHECK(c.listeners[0].limits.sessions_per_network == 500);
    CHECK(c.listeners[0].proxy_networks[0].to_string() == "192.0.2.10/32");
    CHECK(c.listeners[1].limits.messages_per_minute == 7);
    CHECK(c.listeners[1].limits.user_connections_per_minute == 0);
    CHECK(c.listeners[1].proxy_networks.empty());
    CHECK(c.listeners[1].service == config::Service::submission);
    CHECK(c.listeners[1].addresses[0].to_string() == "[::]:2587");
    CHECK(c.listeners[1].submitters[0].to_string() == "10.0.0.0/8");
    CHECK(c.listeners[0].submitters.empty());
    CHECK(c.is_relay("example.net"));
    CHECK(c.is_relay("a.b.example.net"));
    CHECK(!c.is_relay("example.org"));
    REQUIRE(c.routes.size() == 3);
    const decide::RouteTable table(c.routes);
    const auto* rule = table.find("x.example.com");
    REQUIRE(rule);
    CHECK(rule->connections == 7);
    REQUIRE(rule->next_hops.size() == 2);
    CHECK(rule->next_hops[0][1].to_string() == "[b.example]");
    CHECK(rule->next_hops[1][0].to_string() == "[2001:db8::1]:26");
    CHECK(c.dns.servers[1].to_string() == "[::1]:53");
    CHECK(c.dns.timeout == 1min);
    CHECK(c.smtp_client.final_dot_timeout == 90min);
    CHECK(c.bounce.full_content_limit == 1000);
}

TEST_CASE("what a route says of queueing, and retry policies by name") {
    const auto c = good(R"(
[queue]
link_down_after = "1m"
recategorize_on_start = true
[retry.quick]
kind = "steps"
steps = ["1m", "5m", "2h"]
[retry.often]
kind = "fixed"
interval = "30s"
attempts = 3
[route."example.com"]
next_hop = "[a.example]"
messages_per_second = 5
messages_per_hour = 100
connections_per_second = 2
retry_policy = "quick"
glitch_interval = "7s"
reply_overrides = ["550 5.7.1 at MAIL is temporary"]
)");
    CHECK(c.queue.link_down_after == 1min);
    CHECK(c.queue.recategorize_on_start);
    REQUIRE(c.queue.policies.size() == 2);
    REQUIRE(c.queue.routes.contains("example.com"));
    const auto& route = c.queue.routes.at("example.com");
    CHECK(route.messages_per_second == 5);
    CHECK(route.messages_per_hour == 100);
    CHECK(route.connections_per_second == 2);
    CHECK(route.retry_policy == "quick");
    CHECK(route.glitch_interval == 7s);
    CHECK(c.routes[0].replies[0].to_string() == "550 5.7.1 at MAIL is temporary");
    for (const auto& policy : c.queue.policies) {
        if (policy.name == "quick") CHECK(policy.waits == std::vector<smtp::Duration>{1min, 5min, 2h});
        if (policy.name == "often") CHECK(policy.attempts == 3);
    }
}

TEST_CASE("pools of source addresses") {
    const auto config =
        good("[mta]\nhostname = \"mail.example.com\"\n"
             "[pool.bulk]\naddresses = [\"192.0.2.1 MX1.example.com\", \"192.0.2.2  mx2.example.com 3\", "
             "\"2001:db8::1\"]\nbackoff = \"10m\"\n"
             "[pool.a]\naddresses = [\"192.0.2.9\"]\n"
             "[pools]\nby_sender = [\"@News.example bulk\", \"ann@x.example a\"]\n"
             "[route.\"*\"]\nnext_hop = \"mx\"\npool = \"a\"\n");
    REQUIRE(config.pools.size() == 2);
    CHECK(config.pool("none") == nullptr);
    const auto& bulk = *config.pool("bulk");
    CHECK(bulk.backoff == 10min);
    REQUIRE(bulk.addresses.size() == 3);
    CHECK(bulk.addresses[0].to_string() == "192.0.2.1 mx1.example.com");
    CHECK(bulk.addresses[1].to_string() == "192.0.2.2 mx2.example.com 3");
    CHECK(bulk.addresses[2].to_string() == "2001:db8::1 mail.example.com"); // as smtp_client.helo
    CHECK(config.pool("a")->backoff == 1h);
    CHECK(config.pool_choice.by_sender.at("@news.example") == "bulk");
    CHECK(config.routes.at(0).pool == "a");
}

TEST_CASE("a route to a listener of ours is refused") {
    const auto problem = [](std::string_view listen, std::string_view hop) {
        return bad(fmt::format("[listen.mx]\naddresses = {}\n[route.\"x.example\"]\nnext_hop = {}", listen, hop));
    };
    for (const auto& [listen, hop] : {std::pair{"\"127.0.0.1:25\"", "\"[127.0.0.1]:25\""},
                                      {"\"127.0.0.1:25\"", "\"[127.0.0.1]\""},
                                      {"\"*:2525\"", "\"[127.0.0.2]:2525\""},
                                      {"\"*:2525\"", "\"[::1]:2525\""},
                                      {"\"192.0.2.1:25\"", "[\"[192.0.2.9]\", \"[192.0.2.1]:25\"]"},
                                      {"\"192.0.2.1:25\"", "\"[localhost]\""}}) {
        CAPTURE(hop);
        CHECK(problem(listen, hop).contains("is this system itself (listen.mx): mail sent there would loop"));
    }
    for (const auto& [listen, hop] : {std::pair{"\"127.0.0.1:25\"", "\"[127.0.0.1]:10025\""},
                                      {"\"192.0.2.1:25\"", "\"[127.0.0.1]:25\""},
                                      {"\"192.0.2.1:25\"", "\"x.example\""}}) {
        CAPTURE(hop);
        CHECK(problem(listen, hop) == "accepted");
    }
}

TEST_CASE("each kind of mistake is refused with its place and what was probably meant") {
    struct Row {
        const char *text, *problem;
    } rows[] = {
        {"[smtpd]\nworker = 1", "f.toml:2:1: unknown key smtpd.worker: did you mean workers?"},
        {"[smtpd]\n  final_dot_timeout = \"1s\"",
         "f.toml:2:3: unknown key smtpd.final_dot_timeout: did you mean smtp_client.final_dot_timeout?"},
        {"[smtp]\nworkers = 1", "f.toml:1:2: unknown section smtp: did you mean [smtpd]?"},
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
        {"[local]\ndomains = [\"a.example\", \"A.example\"]",
         "f.toml:2:25: local.domains: \"A.example\" is listed twice"},
        {"[local]\ndomains = \"a.example\"\n[relay]\ndomains = \"a.example\"",
         "f.toml:4:1: relay.domains: a.example is also in local.domains"},
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
        {"[access.a]\nclient = [\"reject_unverified_sender\"]",
         "f.toml:2:11: access.a.client: reject_unverified_sender is not supported: addresses are not verified by "
         "probes: list the valid recipients in relay.recipients or virtual_mailbox.recipients"},
        {"[access.a]\nclient = [\"check_policy_service b\"]", "f.toml:2:1: access.a.client: there is no [policy.b]"},
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

TEST_CASE("durations and sizes") {
    CHECK(config::parse_duration("60s") == 60s);
    CHECK(config::parse_duration("1h30m") == 90min);
    CHECK(config::parse_duration("2w") == 14 * 24h);
    CHECK(config::parse_duration("250ms") == 250ms);
    CHECK(config::parse_duration("0s") == 0s);
    for (auto odd : {"", "5", "s", "-5s", "5 s", "5S", "1.5s", "5ss", "99999999999s", "4294967295d", " 5s"})
        CHECK_MESSAGE(!config::parse_duration(odd), odd);
    for (auto text : {"0s", "10s", "10m", "36h", "5d", "1500ms"})
        CHECK(config::print_duration(*config::parse_duration(text)) == text);
    CHECK(config::parse_size("4096") == 4096);
    CHECK(config::parse_size("50MiB") == 50 * config::MiB);
    for (auto odd : {"", "MiB", "-1", "1 MiB", "1MB", "1MiB2", "99999999999GiB"})
        CHECK_MESSAGE(!config::parse_size(odd), odd);
    for (auto text : {"1000", "1KiB", "50MiB", "4GiB"}) CHECK(config::print_size(*config::parse_size(text)) == text);
}

TEST_CASE("hosts may be moved for tests, and only there") {
    const auto c = good("[mta]\nmulti_user = false\n[testing]\n"
                        "connect_to = [\"MX.example.com:25=127.0.0.1:2525\", \"mx2.example.com=[::1]:25\", "
                        "\"[2001:DB8::1]:465=127.0.0.1:2526\", \"192.0.2.1:25=127.0.0.1:2527\"]\n");
    std::vector<std::string> shown;
    for (const auto& each : c.testing.connect_to) shown.push_back(each.to_string());
    CHECK(shown == std::vector<std::string>{"mx.example.com:25=127.0.0.1:2525", "mx2.example.com:25=[::1]:25",
                                            "[2001:db8::1]:465=127.0.0.1:2526", "192.0.2.1:25=127.0.0.1:2527"});
    CHECK(bad("[testing]\nconnect_to = [\"mx.example.com:25=127.0.0.1:2525\"]\n") ==
          "f.toml:2:1: testing.connect_to: redirects mail: only allowed for tests, in single-user mode "
          "(mta.multi_user = false)");
    for (const std::string odd : {"mx.example.com", "=127.0.0.1:25", "mx.example.com:25=mx2:25", "mx:0=127.0.0.1:25",
                                  "mx:25=127.0.0.1", "m x:25=127.0.0.1:25", "a=b=127.0.0.1:25"})
        CHECK(bad("[mta]\nmulti_user = false\n[testing]\nconnect_to = [\"" + odd + "\"]\n")
                  .find("\"" + odd + "\" is not a valid redirection") != std::string::npos);
}

TEST_CASE("routes that fall back, ask for SRV records, or wrap") {
    const auto c = good("[route.\"*\"]\nnext_hop = \"mx\"\nfallback = [\"[Relay.example.net]:2525\", \"[192.0.2.1]\"]\n"
                        "[route.\"a.example\"]\nnext_hop = \"srv:example.net\"\n"
                        "[route.\"b.example\"]\nnext_hop = \"[a]:465\"\nimplicit_tls = true\n");
    const decide::RouteTable table(c.routes);
    REQUIRE(table.named("*")->fallback.size() == 2);
    CHECK(table.named("*")->fallback[0].to_string() == "[relay.example.net]:2525");
    CHECK(table.named("a.example")->next_hops[0][0].kind == decide::NextHop::Kind::srv);
    CHECK(table.named("b.example")->tls_wrap);
    CHECK(
        bad("[route.\"a\"]\nnext_hop = \"mx\"\nfallback = [\"relay.example.net\"]").find("is not a host in brackets") !=
        std::string::npos);
    CHECK(bad("[route.\"a\"]\nnext_hop = \"[b]\"\nfallback = [\"[c]\"]") ==
          "f.toml:3:1: route.\"a\".fallback: next_hop names hosts in brackets: "
          "add these to the end of that list instead");
    CHECK(bad("[route.\"a\"]\nnext_hop = \"srv:b\"\nfallback = [\"[c]\"]") ==
          "f.toml:3:1: route.\"a\".fallback: only allowed if hosts are found by MX");
    CHECK(bad("[route.\"a\"]\nnext_hop = \"mx\"\nimplicit_tls = true") ==
          "f.toml:3:1: route.\"a\".implicit_tls: only allowed for hosts in brackets");
}

TEST_CASE("ciphers that OpenSSL does not know are refused here, not by the daemons") {
    CHECK(bad("[smtp_client]\ntls_ciphers = \"FOO\"")
              .find("smtp_client.tls_ciphers: no TLS 1.2 cipher is "
                    "listed") != std::string::npos);
    CHECK(bad("[tls]\nciphers = \"HIHG\"").find("f.toml:2:") != std::string::npos);
    CHECK(good("[smtp_client]\ntls_ciphers = \"HIGH:!aNULL\"").smtp_client.tls_ciphers == "HIGH:!aNULL");
}
