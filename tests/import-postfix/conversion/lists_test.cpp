// Lists that name files and databases.
#include "tests/import-postfix/conversion/machine.h"

using namespace postrider;

TEST_CASE("who may submit without AUTH: mynetworks in a file counts") {
    const auto result =
        imported("mynetworks = /etc/postfix/networks", {{"/pf/networks", "10.0.0.0/8\n# old\n127.0.0.1\n"}},
                 smtp_line + "587 inet n - n - - smtpd\n");
    const auto* networks = result.draft.find("listen.submission.submission_networks");
    REQUIRE(networks);
    CHECK(networks->value == R"(["10.0.0.0/8", "127.0.0.1"])");
}

TEST_CASE("domains that are in a database stay there") {
    const auto result = drafted("virtual_mailbox_domains = proxy:mysql:/etc/postfix/domains.cf\n"
                                "virtual_transport = lmtp:unix:private/lmtp",
                                {{"/pf/domains.cf", "dbname = d\nquery = SELECT a\n"}});
    const auto found = std::ranges::find(result.results, "virtual_mailbox_domains", &SettingResult::name);
    REQUIRE(found != result.results.end());
    CHECK(found->kind == SettingResult::Kind::with_remark);
    REQUIRE(found->remarks.size() == 2); // and a group of options that is not read
    CHECK(found->remarks[1].find("the package postrider-maps is required") != found->remarks[1].npos);
    const auto* tables = result.draft.find("virtual_mailbox.domain_tables");
    REQUIRE(tables);
    CHECK(tables->value == R"(["mysql:/pf/domains.cf"])");
    CHECK_FALSE(result.draft.find("virtual_mailbox.domains"));
}

TEST_CASE("networks are no domains; exceptions have no counterpart") {
    const auto result =
        drafted("relay_domains = cidr:/etc/postfix/nets, !x.example, y.example", {{"/pf/nets", "10.0.0.0/8 x\n"}});
    CHECK_FALSE(result.draft.find("relay.domain_tables"));
    const auto found = std::ranges::find(result.results, "relay_domains", &SettingResult::name);
    REQUIRE(found->remarks.size() == 2);
    CHECK(found->remarks[0] == "cidr:/etc/postfix/nets: networks match no domain; omitted");
}

TEST_CASE("the next hop of relayed domains in tables") {
    const std::map<std::string, std::string> files = {{"/pf/relayed", "a.example x\n"},
                                                      {"/pf/d.cf", "dbname = d\nquery = SELECT a\n"}};
    const auto text = drafted("relay_domains = hash:/pf/relayed\nrelay_transport = smtp:[in.example]", files);
    CHECK(text.draft.find("route.\"a.example\".next_hop")->value == R"("[in.example]")");
    const auto remarks_on = [](const ImportResult& result) {
        return std::ranges::find(result.results, "relay_transport", &SettingResult::name)->remarks;
    };
    CHECK(remarks_on(text).at(0).starts_with("domains that are added to relay.domain_tables need a [route]"));
    const auto database = drafted("relay_domains = pgsql:/pf/d.cf\nrelay_transport = smtp:[in.example]", files);
    CHECK(remarks_on(database).at(0).find("is not applied to the domains of relay.domain_tables") != std::string::npos);
}
