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

TEST_CASE("domains that are in a database: one remark, which says what to do") {
    const auto result = drafted("virtual_mailbox_domains = proxy:mysql:/etc/postfix/domains.cf\n"
                                "virtual_transport = lmtp:unix:private/lmtp");
    const auto found = std::ranges::find(result.results, "virtual_mailbox_domains", &SettingResult::name);
    REQUIRE(found != result.results.end());
    REQUIRE(found->remarks.size() == 1);
    CHECK(found->remarks[0].find("list its domains in virtual_mailbox.domains") != found->remarks[0].npos);
}
