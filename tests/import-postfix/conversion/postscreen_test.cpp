// postscreen becomes [client_tests].
#include "tests/import-postfix/conversion/machine.h"

using namespace postrider;

TEST_CASE("postscreen refuses nobody unless it is told to") {
    const std::string
        sites = "postscreen_dnsbl_sites = a.example*2, b.example=127.0.0.2*-1\npostscreen_dnsbl_threshold = 2\n",
        master = "smtp inet n - n - 1 postscreen\nsmtpd pass - - n - - smtpd\n";
    const auto looks_on = imported(sites, {}, master);
    CHECK(!looks_on.draft.has_section("dns_list.\"a.example\""));
    CHECK(key(looks_on, "smtpd.greeting_delay") == "-");
    CHECK(result_of(looks_on, "postscreen_dnsbl_sites").kind == SettingResult::Kind::with_remark);
    const auto acts =
        imported(sites + "postscreen_dnsbl_action = enforce\npostscreen_greet_action = drop\n", {}, master);
    CHECK(key(acts, "dns_list.\"a.example\".weight") == "2");
    CHECK(key(acts, "dns_list.\"b.example\".allow") == "true");
    CHECK(key(acts, "smtpd.dns_list_threshold") == "2");
    CHECK(key(acts, "smtpd.greeting_delay") == "\"6s\"");
}

TEST_CASE("postscreen's tests, lists and lifetimes are those of [client_tests]") {
    const std::string master = "smtp inet n - n - 1 postscreen\nsmtpd pass - - n - - smtpd\n";
    const auto from = imported("postscreen_access_list = permit_mynetworks, cidr:/pf/access\n"
                               "postscreen_denylist_action = enforce\npostscreen_greet_action = enforce\n"
                               "postscreen_greet_wait = 4s\npostscreen_greet_ttl = 2d\npostscreen_dnsbl_action = drop\n"
                               "postscreen_dnsbl_sites = a.example\npostscreen_dnsbl_threshold = 3\n"
                               "postscreen_dnsbl_allowlist_threshold = -2\npostscreen_dnsbl_min_ttl = 5m\n"
                               "postscreen_dnsbl_max_ttl = 2h\npostscreen_dnsbl_timeout = 7s\n"
                               "postscreen_pipelining_enable = yes\npostscreen_pipelining_ttl = 20d\n"
                               "postscreen_bare_newline_enable = yes\npostscreen_bare_newline_action = drop\n"
                               "postscreen_non_smtp_command_action = drop\npostscreen_cache_retention_time = 3d\n"
                               "postscreen_cache_map = lmdb:/x\npostscreen_pre_queue_limit = 50\n",
                               {{"/pf/access", "192.0.2.0/24 reject\n"}}, master);
    const std::pair<std::string_view, std::string_view> expected[] = {
        {"client_tests.enabled", "true"},
        {"client_tests.listeners", "-"},
        {"client_tests.tables", "[\"cidr:/pf/access\"]"},
        {"client_tests.denied_action", "\"enforce\""},
        {"client_tests.early_talk_action", "\"enforce\""},
        {"smtpd.greeting_delay", "\"4s\""},
        {"client_tests.early_talk_lifetime", "\"172800s\""},
        {"client_tests.dns_list_action", "\"drop\""},
        {"smtpd.dns_list_threshold", "3"},
        {"client_tests.dns_list_allow_threshold", "2"},
        {"client_tests.dns_list_minimum_lifetime", "\"300s\""},
        {"client_tests.dns_list_maximum_lifetime", "\"7200s\""},
        {"client_tests.dns_list_timeout", "\"7s\""},
        {"client_tests.pipelining_action", "\"enforce\""},
        {"client_tests.bare_newline_action", "\"drop\""},
        {"client_tests.non_smtp_action", "-"}, // not enabled
        {"client_tests.session_lifetime", "\"1728000s\""},
        {"client_tests.retention", "\"259200s\""},
        {"client_tests.maximum_waiting", "50"},
    };
    for (const auto& [path, value] : expected) {
        CAPTURE(path);
        CHECK(key(from, path) == value);
    }
    CHECK(undecided(from).empty());
    const auto two = imported("postscreen_greet_action = drop\n", {}, master + "2525 inet n - n - - smtpd\n");
    CHECK(key(two, "client_tests.listeners") == "[\"smtp\"]");
    // A list that only exempts clients from tests that reject none.
    const auto exempt = imported("postscreen_access_list = cidr:/pf/access\npostscreen_greet_action = drop\n",
                                 {{"/pf/access", "192.0.2.0/24 permit\n"}}, master);
    CHECK(key(exempt, "client_tests.denied_action") == "\"ignore\"");
    CHECK(key(imported("", {}, master), "client_tests.enabled") == "-");
    for (const auto* name : {"denylist", "blacklist"}) { // given for the service
        const auto own =
            imported("postscreen_access_list = cidr:/pf/access\n", {{"/pf/access", "192.0.2.0/24 reject\n"}},
                     fmt::format("smtp inet n - n - 1 postscreen -o postscreen_{}_action=drop\n"
                                 "smtpd pass - - n - - smtpd\n",
                                 name));
        CHECK(key(own, "client_tests.denied_action") == "\"drop\"");
    }
}
