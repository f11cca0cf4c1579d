#include "daemons/import-postfix/postfix/restriction_lists.h"
#include <doctest/doctest.h>

using namespace postrider::postfix;

namespace {

std::vector<Restriction> list(std::string_view text) {
    auto read = restrictions_of(text);
    REQUIRE(read);
    return *std::move(read);
}

} // namespace

TEST_CASE("restrictions and the words that belong to them") {
    const auto read =
        list("permit_mynetworks, check_client_access cidr:/x reject_rbl_client a.example=127.0.0.2,\n warn_if_reject "
             "reject_rhsbl_sender b.example, "
             "warn_if_reject reject_unknown_sender_domain check_policy_service { inet:h:1, timeout=3 } reject");
    const std::pair<std::string_view, std::string_view> expected[] = {
        {"permit_mynetworks", ""},
        {"check_client_access", "cidr:/x"},
        {"reject_rbl_client", "a.example=127.0.0.2"},
        {"warn_if_reject", "reject_rhsbl_sender b.example"},
        {"warn_if_reject", "reject_unknown_sender_domain"},
        {"check_policy_service", "{ inet:h:1, timeout=3 }"},
        {"reject", ""}};
    REQUIRE(read.size() == std::size(expected));
    for (std::size_t i = 0; i < read.size(); ++i) {
        CHECK(read[i].word == expected[i].first);
        CHECK(read[i].more == expected[i].second);
    }
    CHECK(list("").empty());
    CHECK(list("sleep").front().more.empty());
    CHECK_FALSE(restrictions_of("check_policy_service { inet:h:1"));
}

TEST_CASE("who relays, and whether strangers are refused") {
    struct Row {
        std::string_view text;
        bool networks, authenticated, closed;
    };
    const Row rows[] = {
        {"", true, true, false},
        {"permit_mynetworks, permit_sasl_authenticated, defer_unauth_destination", true, true, false},
        {"permit_sasl_authenticated, reject_unauth_destination, permit_mynetworks", false, true, false},
        {"reject_unknown_client_hostname, permit_mynetworks, reject", true, false, true},
        {"permit_sasl_authenticated, reject", false, true, true},
        {"permit_mynetworks, reject_rbl_client a.example, reject", true, false, true},
        {"permit_mynetworks, warn_if_reject reject_rbl_client a.example, reject", true, false, true},
        {"permit_mynetworks, permit_auth_destination, reject", true, false, false},
        {"permit_mynetworks, check_client_access cidr:/x, reject", true, false, false},
        {"check_client_access cidr:/x, permit", true, true, false},
        {"my_class, reject", false, false, false},
        {"reject", false, false, true},
    };
    for (const auto& row : rows) {
        CAPTURE(row.text);
        CHECK(permits_relay(list(row.text), "permit_mynetworks") == row.networks);
        CHECK(permits_relay(list(row.text), "permit_sasl_authenticated") == row.authenticated);
        CHECK(rejects_untrusted(list(row.text)) == row.closed);
    }
}
