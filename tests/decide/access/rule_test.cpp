#include "daemons/decide/access/names.h"
#include "daemons/decide/access/rule.h"
#include <algorithm>
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

using namespace decide::access;

TEST_CASE("rules are read as Postfix's restrictions are written") {
    struct Row {
        const char *text, *argument, *answers;
        Check check;
        Subject subject = Subject::list;
    };
    const Row rows[] = {
        {"permit_mynetworks", "", "", Check::permit_networks},
        {"  REJECT ", "", "", Check::reject},
        {"check_client_access cidr:/etc/postrider/clients", "cidr:/etc/postrider/clients", "", Check::table,
         Subject::client},
        {"check_sender_access\ttext:/S", "text:/S", "", Check::table, Subject::sender},
        {"check_sasl_access text:/S", "text:/S", "", Check::table, Subject::login},
        {"check_helo_mx_access text:/S", "text:/S", "", Check::table, Subject::helo},
        {"reject_rbl_client Bl.Example", "bl.example", "", Check::listed, Subject::client},
        {"reject_rbl_client bl.example=127.0.0.[2..4;8]", "bl.example", "127.0.0.[2..4;8]", Check::listed,
         Subject::client},
        {"reject_rhsbl_sender dbl.example", "dbl.example", "", Check::listed, Subject::sender},
        {"permit_dnswl_client wl.example", "wl.example", "", Check::allowed, Subject::client},
        {"reject_unknown_client", "", "", Check::unknown, Subject::client},
        {"reject_unknown_hostname", "", "", Check::unknown, Subject::helo},
        {"reject_unknown_address", "", "", Check::unknown, Subject::sender},
        {"reject_invalid_hostname", "", "", Check::invalid_name, Subject::helo},
        {"reject_non_fqdn_hostname", "", "", Check::not_qualified, Subject::helo},
        {"reject_rbl bl.example", "bl.example", "", Check::listed, Subject::client},
        {"check_recipient_maps", "", "", Check::done_anyway},
        {"check_policy_service greylist", "greylist", "", Check::policy_service},
        {"local_only", "local_only", "", Check::rule_class},
    };
    for (const auto& row : rows) {
        CAPTURE(row.text);
        const auto rule = Rule::parse(row.text);
        REQUIRE(rule);
        CHECK(rule->check == row.check);
        CHECK(rule->subject == row.subject);
        CHECK(rule->argument == row.argument);
        CHECK(rule->answers == row.answers);
        CHECK(!rule->warn_only);
        const auto warning = Rule::parse(fmt::format("warn_if_reject {}", row.text));
        REQUIRE(warning);
        CHECK(warning->warn_only);
        CHECK(warning->check == row.check);
    }
    CHECK(Rule::parse(" check_helo_access   text:/x ")->text == "check_helo_access   text:/x");
}

TEST_CASE("what is no rule, or is not supported, is refused by name") {
    const std::pair<const char*, const char*> rows[] = {
        {"", "empty rule"},
        {"warn_if_reject", "empty rule"},
        {"check_client_access", "expected a table after it"},
        {"reject_rbl_client", "expected the zone"},
        {"check_policy_service", "expected the name of a [policy.NAME]"},
        {"reject_rbl_client bl..example", "not a valid zone"},
        {"reject_rbl_client .bl.example", "not a valid zone"},
        {"reject_rbl_client bl.example=127.0.0.", "not a valid answer"},
        {"reject_rbl_client bl.example=127.0.0.[4..2]", "not a valid answer"},
        {"reject_rbl_client bl.example=127.0.0.[2", "not a valid answer"},
        {"reject_rbl_client bl.example=127.0.0.256", "not a valid answer"},
        {"permit, reject", "neither a rule"},
        {"permit reject", "each rule is a string of its own"},
        {"hash:/etc/x", "neither a rule"},
        {"check_ccert_access", "expected a table after it"},
        {"permit_mx_backup", "relay.domains"},
        {"sleep 3", "smtpd.greeting_delay"},
        {"reject_unlisted_sender", "not supported"},
    };
    for (const auto& [text, why] : rows) {
        CAPTURE(text);
        const auto rule = Rule::parse(text);
        REQUIRE(!rule);
        CHECK_MESSAGE(rule.error().why.find(why) != std::string::npos, rule.error().why);
    }
}

TEST_CASE("the value of a table is a list of rules, separated by commas and blanks") {
    const auto rules = Rule::parse_value("permit_mynetworks,check_sender_access text:/x, warn_if_reject reject");
    REQUIRE(rules);
    REQUIRE(rules->size() == 3);
    CHECK(rules->at(1).argument == "text:/x");
    CHECK(rules->at(2).warn_only);
    CHECK(rules->at(2).text == "warn_if_reject reject");
    CHECK(!Rule::parse_value(""));
    CHECK(!Rule::parse_value(" , "));
    CHECK(!Rule::parse_value("permit !"));
    std::string many;
    for (std::size_t i = 0; i < Rule::most_in_value; ++i) many += "permit_mynetworks ";
    CHECK(Rule::parse_value(many));
    CHECK(!Rule::parse_value(many + "reject"));
}

TEST_CASE("answers of DNS lists are matched by octets, ranges and alternatives") {
    const std::tuple<const char*, const char*, bool> rows[] = {
        {"127.0.0.2", "127.0.0.2", true},          {"127.0.0.2", "127.0.0.3", false},
        {"127.0.0.[2..4]", "127.0.0.4", true},     {"127.0.0.[2..4]", "127.0.0.5", false},
        {"127.0.[1;3..5].2", "127.0.4.2", true},   {"127.0.[1;3..5].2", "127.0.2.2", false},
        {"[0..255].0.0.[2;9]", "127.0.0.9", true}, {"127.0.0.2", "2001:db8::1", false},
        {"127.0.0", "127.0.0.2", false},           {"127.0.0.2x", "127.0.0.2", false},
    };
    for (const auto& [pattern, address, matches] : rows) {
        CAPTURE(pattern);
        CAPTURE(address);
        CHECK(matches_answer(pattern, address) == matches);
    }
}

static std::string shown(const std::vector<Key>& keys) {
    std::vector<std::string> out;
    for (const auto& key : keys) out.push_back(std::string(key.text) + (key.whole ? "!" : ""));
    return fmt::format("{}", fmt::join(out, " "));
}

TEST_CASE("names and addresses are looked up from the most to the least specific") {
    CHECK(shown(domain_keys("a.b.example", true)) == "a.b.example! b.example example");
    CHECK(shown(domain_keys("a.b.example", false)) == "a.b.example! .b.example .example");
    CHECK(shown(domain_keys("a.example.", true)) == "a.example.! example.");
    CHECK(shown(domain_keys("unknown", true)) == "unknown!");
    CHECK(shown(domain_keys("192.0.2.1", true)) == "192.0.2.1!");
    CHECK(shown(domain_keys("[192.0.2.1]", true)) == "[192.0.2.1]! 0.2.1] 2.1] 1]");
    CHECK(shown(domain_keys("", true)) == "");
    CHECK(shown(network_keys("192.0.2.1")) == "192.0.2.1! 192.0.2 192.0 192");
    CHECK(shown(network_keys("2001:db8::1")) == "2001:db8::1! 2001:db8: 2001:db8 2001");
    CHECK(shown(network_keys("::1")) == "::1! :");
    std::string bare;
    CHECK(shown(mail_keys("ann@b.example", '+', true, bare)) == "ann@b.example! b.example example ann@");
    CHECK(shown(mail_keys("ann+x@b.example", '+', true, bare)) ==
          "ann+x@b.example! ann@b.example b.example example ann+x@ ann@");
    CHECK(shown(mail_keys("ann+x@b.example", 0, false, bare)) == "ann+x@b.example! b.example .example ann+x@");
}

TEST_CASE("host names, literals and reversed addresses") {
    for (const auto* good : {"a.example", "a", "a-b.example.", "x_y.example", "1a.example", "a.1"})
        CHECK_MESSAGE(is_hostname(good), good);
    for (const auto* bad :
         {"", ".", "a..b", "-a.example", "a-.example", "a b", "1.2.3.4", "12", "ä.example", "[1.2.3.4]", ".a"})
        CHECK_MESSAGE(!is_hostname(bad), bad);
    CHECK(!is_hostname(std::string(64, 'a') + ".example"));
    CHECK(is_address("192.0.2.1"));
    CHECK(is_address("2001:db8::1"));
    for (const auto* bad : {"", "192.0.2", "192.0.2.256", "a.example", "2001:db8::1::"})
        CHECK_MESSAGE(!is_address(bad), bad);
    CHECK(address_in_brackets("[192.0.2.1]") == "192.0.2.1");
    CHECK(address_in_brackets("[IPv6:2001:db8::1]") == "2001:db8::1");
    for (const auto* bad : {"[2001:db8::1]", "[IPv6:192.0.2.1]", "[]", "192.0.2.1", "[a.example]", "[192.0.2.1"})
        CHECK_MESSAGE(address_in_brackets(bad) == "", bad);
    CHECK(reversed("192.0.2.1") == "1.2.0.192");
    CHECK(reversed("2001:db8::1") == "1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2");
    CHECK(reversed("unknown") == "");
}
