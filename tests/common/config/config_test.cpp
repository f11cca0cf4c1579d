// What a configuration may say, what it means, and how each mistake in it is answered.
#include "daemons/common/config/load.h"
#include "daemons/common/text/units.h"
#include "daemons/decide/addressing/domain_classes.h"
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

TEST_CASE("certificates that servers are shown: for all mail, and for that of a route") {
    const auto c = good("[smtp_client]\ntls_certificates = [\"c.pem\", \"/r.pem\"]\ntls_keys = [\"c.key\", \"r.key\"]\n"
                        "[route.\"a.test\"]\nnext_hop = \"mx\"\ntls_certificates = [\"/a.pem\"]\n"
                        "[route.\"b.test\"]\nnext_hop = \"mx\"\ntls_certificates = []\n"
                        "[route.\"d.test\"]\nnext_hop = \"mx\"\n");
    using Names = std::vector<std::string>;
    CHECK(c.smtp_client.certificates.certificates == Names{"/etc/p/c.pem", "/r.pem"});
    CHECK(c.smtp_client.certificates.key_of(1) == "/etc/p/r.key");
    CHECK(c.routes[0].certificates.key_of(0) == "/a.pem"); // in the same file
    CHECK(c.routes[1].certificates.certificates == Names{});
    CHECK_FALSE(c.routes[2].certificates.certificates);
    CHECK(std::ranges::count(c.files, "smtp_client.tls_keys", &config::FileReference::key) == 2);
    CHECK(std::ranges::count(c.files, "route.\"a.test\".tls_certificates", &config::FileReference::key) == 1);
}

TEST_CASE("an empty file is a valid configuration") {
    const auto c = good("");
    CHECK(c.mta.hostname == "mail.example.com");
    CHECK(c.mta.origin == "mail.example.com");
    CHECK(c.smtp_client.helo == "mail.example.com");
    CHECK(c.local.domains == std::vector<std::string>{"mail.example.com", "mail", "localhost"});
    CHECK(c.local.users.empty());
    CHECK(c.local.postmaster == "root");
    CHECK(c.domain_classes().by_name("localhost") == decide::AddressClass::local);
    CHECK(c.domain_classes().by_name("example.com") == decide::AddressClass::remote);
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
headers = ["Subject", "List-Id"]
dialogue = "failures"
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
    CHECK(c.history.headers == std::vector<std::string>{"Subject", "List-Id"});
    CHECK(c.history.dialogue == config::RecordedDialogue::failures);
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
    CHECK(c.domain_classes().by_name("example.net") == decide::AddressClass::relay);
    CHECK(c.domain_classes().by_name("a.b.example.net") == decide::AddressClass::relay);
    CHECK(c.domain_classes().by_name("example.org") != decide::AddressClass::relay);
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

TEST_CASE("tests of clients") {
    CHECK(!good("").client_tests.enabled);
    using decide::screening::Action;
    using decide::screening::Test;
    const auto c = good("[smtpd]\ngreeting_delay = \"6s\"\n[client_tests]\nenabled = true\nlisteners = [\"mx\"]\n"
                        "tables = [\"cidr:/etc/p/clients\"]\nallowed_networks = [\"192.0.2.0/24\"]\n"
                        "denied_networks = [\"198.51.100.1\"]\ndenied_action = \"enforce\"\nearly_talk_action = "
                        "\"ignore\"\nearly_talk_lifetime = \"2d\"\ndns_list_action = \"drop\"\n"
                        "dns_list_minimum_lifetime = \"2m\"\ndns_list_maximum_lifetime = \"3h\"\n"
                        "pipelining_action = \"enforce\"\nnon_smtp_action = \"drop\"\nbare_newline_action = "
                        "\"ignore\"\nsession_lifetime = \"10d\"\nmaximum_waiting = 5\nretention = \"1d\"\n"
                        "dns_list_allow_threshold = 2\n[listen.mx]\naddresses = \"*:25\"\n");
    const auto& tests = c.client_tests;
    CHECK(tests.denied_action == Action::enforce);
    CHECK(tests.tables == std::vector<std::string>{"cidr:/etc/p/clients"});
    const auto settings = config::screening_settings(tests, c.smtpd.greeting_delay, 7, true);
    CHECK(settings.actions == decide::screening::PerTest<Action>{Action::ignore, Action::drop, Action::enforce,
                                                                 Action::drop, Action::ignore});
    CHECK(settings.lifetimes[index_of(Test::early_talk)] == 48h);
    CHECK(settings.lifetimes[index_of(Test::dns_lists)] == 3h);
    CHECK(settings.lifetimes[index_of(Test::bare_newline)] == 240h);
    CHECK(settings.shortest_of_dns_lists == 2min);
    CHECK(settings.threshold == 7);
    CHECK(settings.allow_threshold == 2);
    CHECK(settings.most_waiting == 5);
    // Without a delay or lists there are no such tests.
    const auto none = config::screening_settings(tests, {}, 7, false);
    CHECK(none.action(Test::early_talk) == Action::off);
    CHECK(none.action(Test::dns_lists) == Action::off);

    CHECK(bad("[client_tests]\nenabled = true\n") ==
          "f.toml:2:1: client_tests.enabled: there is nothing to test: set smtpd.greeting_delay, or add a [dns_list]");
    const std::string on = "[smtpd]\ngreeting_delay = \"6s\"\n[client_tests]\nenabled = true\n";
    CHECK(bad(on + "listeners = [\"mx\"]\n") ==
          "f.toml:5:1: client_tests.listeners: there is no [listen.mx] with service = \"relay\"");
    CHECK(bad(on + "dns_list_minimum_lifetime = \"2h\"\n") ==
          "f.toml:5:1: client_tests: dns_list_minimum_lifetime must not exceed dns_list_maximum_lifetime");
    CHECK(bad(on + "early_talk_action = \"off\"\n").find("expected one of \"ignore\", \"enforce\", \"drop\"") !=
          std::string::npos);
}

TEST_CASE("the verification of addresses") {
    const auto usual = good("").verify;
    CHECK(usual.wait == 6s);
    CHECK(usual.sender.empty());
    CHECK(usual.replies.recipient.reject_code == 450);
    const auto set = good("[verify]\nwait = \"10s\"\npositive_lifetime = \"20d\"\npositive_refresh = \"5d\"\n"
                          "negative_lifetime = \"2d\"\nnegative_refresh = \"2h\"\ntemporary_lifetime = \"5m\"\n"
                          "sender = \"probe@here.example\"\nmaximum_entries = 500\nmaximum_probes = 7\n"
                          "probes_per_minute = 9\nrecipient_reject_code = 550\nrecipient_defer_code = 451\n"
                          "recipient_reject_reason = \"No\"\nsender_reject_code = 553\nsender_defer_code = 452\n"
                          "sender_reject_reason = \"Who?\"\n")
                         .verify;
    const auto memory = config::memory_settings(set);
    CHECK(memory.positive_lifetime == 480h);
    CHECK(memory.positive_refresh == 120h);
    CHECK(memory.negative_lifetime == 48h);
    CHECK(memory.negative_refresh == 2h);
    CHECK(memory.temporary_lifetime == 5min);
    CHECK(memory.most == 500);
    const auto limits = config::probe_limits(set);
    CHECK(limits.probes == 7);
    CHECK(limits.per_minute == 9);
    CHECK(set.wait == 10s);
    CHECK(set.sender == "probe@here.example");
    CHECK(set.replies.recipient.reject_code == 550);
    CHECK(set.replies.recipient.defer_code == 451);
    CHECK(set.replies.recipient.reason == "No");
    CHECK(set.replies.sender.reject_code == 553);
    CHECK(set.replies.sender.defer_code == 452);
    CHECK(set.replies.sender.reason == "Who?");
    CHECK(good("[verify]\nsender = \"<>\"\n").verify.sender.empty());
    CHECK(bad("[verify]\nsender = \"probe\"\n").ends_with("\"probe\" is not an address with a domain"));
    CHECK(bad("[verify]\npositive_refresh = \"40d\"\n") ==
          "f.toml:2:1: verify: positive_refresh must not exceed positive_lifetime");
    CHECK(bad("[verify]\nnegative_refresh = \"4d\"\n") ==
          "f.toml:2:1: verify: negative_refresh must not exceed negative_lifetime");
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
share_rates = true
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
    CHECK(route.share_rates);
    CHECK(c.fleet.shares_rates);
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

TEST_CASE("tables of domains, for each class") {
    const auto c = good("[local]\ndomains = [\"a.example\"]\ndomain_tables = [\"text:/l\"]\n"
                        "[virtual_alias]\ndomain_tables = \"lmdb:/a\"\ntables = \"text:/t\"\n"
                        "[virtual_mailbox]\ndomain_tables = [\"mysql:/m\", \"table:few\"]\ndeliver = \"lmtp:/run/l\"\n"
                        "[relay]\ndomain_tables = [\"regexp:/r\"]\nparent_domains = true\n"
                        "[table.few]\nkind = \"entries\"\nentries = [\"b.example x\"]\n");
    CHECK(c.local.domain_tables == std::vector<std::string>{"text:/l"});
    CHECK(c.addresses.virtual_mailbox.domain_tables == std::vector<std::string>{"mysql:/m", "table:few"});
    CHECK(c.relay.parent_domains);
    CHECK(std::ranges::count(c.table_references, "virtual_alias.domain_tables", &config::TableReference::key) == 1);
    const auto classes = c.domain_classes();
    CHECK(classes.has_tables());
    CHECK(classes.by_name("a.example") == decide::AddressClass::local);
    CHECK_FALSE(classes.by_name("b.example"));
    std::vector<std::string> asked;
    const auto found = classes.find("x.b.example", [&](const auto& table, const auto& key) -> decide::TableAnswer {
        asked.push_back(table + " " + key);
        return {};
    });
    CHECK(found == decide::AddressClass::remote);
    CHECK(asked == std::vector<std::string>{"text:/l x.b.example", "lmdb:/a x.b.example", "mysql:/m x.b.example",
                                            "table:few x.b.example", "regexp:/r x.b.example"});
    CHECK_FALSE(good("").domain_classes().has_tables());
}
