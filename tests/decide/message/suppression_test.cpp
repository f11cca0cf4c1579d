#include "daemons/decide/message/suppression.h"
#include "libsmtp/text/text.h"
#include <doctest/doctest.h>

using namespace decide;

namespace {

// ASCII's letters are enough here.
const NameFolding folding{[](std::string_view d) { return smtp::lowered(d); },
                          [](std::string_view n) { return smtp::lowered(n); }};

std::string recipient(std::string_view written) { return suppression_recipient(written, folding).value_or("no"); }

} // namespace

TEST_CASE("a recipient has one form however it is written") {
    struct Row {
        std::string_view written, form;
    };
    constexpr Row rows[] = {
        {"ann@example.org", "ann@example.org"},
        {"Ann@Example.ORG", "ann@example.org"},
        {"\"ann\"@example.org", "ann@example.org"},
        {"ann+list@example.org", "ann+list@example.org"},
        {"example.org", "@example.org"},
        {"@Example.org", "@example.org"},
        {"ann@[192.0.2.1]", "ann@[192.0.2.1]"},
        {"@local", "@local"},
        {"nonsense", "no"},
        {"", "no"},
        {"@", "no"},
        {"ann@", "no"},
        {"ann@example..org", "no"},
        {"<ann@example.org>", "no"},
        {"ann @example.org", "no"},
    };
    for (const auto& [written, form] : rows) {
        CAPTURE(written);
        CHECK(recipient(written) == form);
    }
    CHECK(suppression_scope({.sender = "@News.example", .pool = "", .lane = ""}, folding)->sender == "news.example");
    CHECK(suppression_scope({}, folding).value() == SuppressionScope{});
    CHECK(suppression_scope({.sender = "", .pool = "News", .lane = ""}, folding)->pool == "News");
    CHECK(suppression_scope({.sender = "", .pool = "", .lane = "bulk"}, folding)->lane == "bulk");
    for (const SuppressionScope& wrong :
         {SuppressionScope{"ann@news.example", "", ""}, SuppressionScope{"", "two words", ""},
          SuppressionScope{"", std::string(64, 'p'), ""}, SuppressionScope{"", "", "slow"},
          SuppressionScope{"news.example", "news", ""}, SuppressionScope{"", "news", "bulk"}})
        CHECK_FALSE(suppression_scope(wrong, folding));
}

TEST_CASE("where it is looked up: the sender's before all's, the address before its domain") {
    const SuppressionScope news{"news.example", "", ""}, vip{"", "vip", ""}, bulk{"", "", "bulk"}, all;
    const auto key = [](std::string_view r, const SuppressionScope& s) { return suppression_key(r, s); };
    CHECK(suppression_keys("Ann@Example.org", {"bob@News.example", "", ""}, folding) ==
          std::vector{key("ann@example.org", news), key("@example.org", news), key("ann@example.org", all),
                      key("@example.org", all)});
    CHECK(suppression_keys("Ann@Example.org", {"bob@news.example", "vip", "bulk"}, folding) ==
          std::vector{key("ann@example.org", news), key("@example.org", news), key("ann@example.org", vip),
                      key("@example.org", vip), key("ann@example.org", bulk), key("@example.org", bulk),
                      key("ann@example.org", all), key("@example.org", all)});
    CHECK(suppression_keys("ann@example.org", {}, folding) ==
          std::vector{key("ann@example.org", all), key("@example.org", all)});
    CHECK(suppression_keys("postmaster", {"bob@news.example", "vip", "bulk"}, folding).empty());
    for (const auto& scope : {news, vip, bulk, all}) {
        const auto both = key("ann@example.org", scope);
        const auto place = parse_suppression_key(both);
        REQUIRE(place);
        CHECK(place->recipient == "ann@example.org");
        CHECK(place->scope == scope);
    }
    CHECK_FALSE(parse_suppression_key("ann@example.org"));
}

TEST_CASE("an address's number") {
    CHECK(address_number("Ann@Example.org", folding) == address_number("ann@example.org", folding));
    CHECK(address_number("\"ann\"@example.org", folding) == address_number("ann@example.org", folding));
    CHECK(address_number("ann@example.org", folding) != address_number("bob@example.org", folding));
    CHECK(address_number("", folding) != 0);
}

TEST_CASE("what is told of an entry") {
    Suppression entry;
    entry.recipient = "ann@example.org";
    entry.added = smtp::WallTime(std::chrono::seconds(1795305600));
    CHECK(suppression_text(entry) == "on the suppression list since 2026-11-22");
    entry.reason = "refused";
    CHECK(suppression_text(entry) == "on the suppression list since 2026-11-22: refused");
    entry.reply = "550 5.1.1 No such user";
    CHECK(suppression_text(entry) ==
          "on the suppression list since 2026-11-22: refused (its server said: 550 5.1.1 No such user)");
}

TEST_CASE("rules: which refusals they cover") {
    struct Row {
        std::string_view rule;
        int code;
        std::string_view status;
        bool covered;
    };
    constexpr Row rows[] = {
        {"5.1.1", 550, "5.1.1", true},
        {"5.1.1", 550, "5.1.10", false},
        {"5.1.1", 450, "4.1.1", false},
        {"5.1.1", 0, "5.1.1", false}, // said by nobody: our own word
        {"5.1.1", 450, "5.1.1", false},
        {"5.1.*", 550, "5.1.10", true},
        {"5.1.*", 550, "5.2.1", false},
        {"5.*.*", 554, "5.7.1", true},
        {"550", 550, "", true},
        {"550", 551, "5.1.1", false},
        {"550 5.1.1", 550, "5.1.1", true},
        {"550 5.1.1", 551, "5.1.1", false},
        {"550 5.1.*", 550, "5.7.1", false},
        {"5.1.1", 550, "", false},
    };
    for (const auto& row : rows) {
        CAPTURE(row.rule);
        CAPTURE(row.status);
        const auto rule = SuppressionRule::parse(row.rule);
        REQUIRE(rule);
        CHECK(rule->covers(row.code, row.status) == row.covered);
        CHECK(rule->to_string() == row.rule);
    }
    for (const auto* bad : {"", "5", "5.1", "4.1.1", "*.1.1", "450", "600", "550.", "550 ", "550 4.1.1", "5.1.1.1",
                            "5.1.x", "5.1111.1", "550 5.1.1 x", "55", "5505.1.1"}) {
        CAPTURE(bad);
        CHECK_FALSE(SuppressionRule::parse(bad));
    }
}
