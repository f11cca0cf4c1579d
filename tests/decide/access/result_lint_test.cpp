#include "daemons/decide/access/result_lint.h"
#include <doctest/doctest.h>

using namespace decide::access;

TEST_CASE("results of access tables are checked before mail depends on them") {
    const auto is_class = [](std::string_view name) { return name == "strict"; };
    const auto is_route = [](std::string_view name) { return name == "scanner"; };
    for (const auto* good : {"OK",
                             "relay",
                             "DUNNO text",
                             "REJECT",
                             "reject 5.7.1 no",
                             "DEFER later",
                             "4711",
                             "1700000000",
                             "550 no",
                             "421 4.7.0 later",
                             "DEFER_IF_PERMIT",
                             "WARN",
                             "INFO x",
                             "HOLD",
                             "DISCARD",
                             "REDIRECT a@b.example",
                             "BCC a@b.example",
                             "PREPEND X-A: b",
                             "permit_mynetworks, reject",
                             "strict",
                             "FILTER smtp:[127.0.0.1]:10024",
                             "filter scanner",
                             "FILTER scanner:[127.0.0.1]:10024",
                             "strict, permit",
                             "reject_unknown_sender_domain"})
        CHECK_MESSAGE(!wrong_result(good, is_class, is_route), good);
    // What rejects all mail that gets it.
    const std::pair<const char*, const char*> faulty[] = {
        {"FILTER", "expected a host in brackets"},
        {"FILTER amavis:[127.0.0.1]:10024", "there is no [route.\"amavis\"]"},
        {"check_sender_access text:/x", "must not name a table"},
        {"lax", "there is no [access_class.lax]"},
        {"strict, lax", "there is no [access_class.lax]"},
        {"permit_mx_backup", "not supported"},
        {"!", "neither a rule"},
        {"", "empty value"},
    };
    for (const auto& [value, why] : faulty) {
        CAPTURE(value);
        const auto wrong = wrong_result(value, is_class, is_route);
        REQUIRE(wrong);
        CHECK(wrong->rejects);
        CHECK_MESSAGE(wrong->why.find(why) != std::string::npos, wrong->why);
    }
    // What permits, or does nothing.
    for (const auto* odd : {"550", "421", "REDIRECT nowhere", "REDIRECT a b@c", "BCC", "PREPEND", "PREPEND no field"}) {
        CAPTURE(odd);
        const auto wrong = wrong_result(odd, is_class, is_route);
        REQUIRE(wrong);
        CHECK(!wrong->rejects);
    }
}
