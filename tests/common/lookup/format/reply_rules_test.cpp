#include "daemons/common/lookup/format/reply_rules.h"
#include <doctest/doctest.h>

using common::ReplyPatterns;
using smtp::Outcome;
using smtp::Stage;

static std::string why(const std::string& line) {
    const std::string lines[] = {line};
    const auto read = ReplyPatterns::parse(lines);
    return read ? "" : read.error().why;
}

TEST_CASE("the first rule whose pattern and stage match says what a reply is taken for") {
    const std::string lines[] = {"/greylist/ at RCPT is temporary", "/^450 .*never/ is permanent",
                                 "/^55[0-9] / at END is temporary"};
    const auto rules = ReplyPatterns::parse(lines);
    REQUIRE(rules);
    std::string warning;
    const auto found = [&](Stage stage, std::string_view reply) -> std::string {
        const auto one = rules->find(stage, reply, warning);
        return one ? one->rule : "";
    };
    CHECK(found(Stage::rcpt, "550 5.7.1 Greylisted") == lines[0]);
    CHECK(found(Stage::mail, "550 5.7.1 Greylisted") == "");
    CHECK(found(Stage::mail, "450 4.7.1 never") == lines[1]);
    CHECK(rules->find(Stage::mail, "450 4.7.1 never", warning)->outcome == Outcome::failed);
    CHECK(found(Stage::final_dot, "554 no") == lines[2]);
    CHECK(found(Stage::content, "554 no") == lines[2]);
    CHECK(found(Stage::ehlo, "450 4.7.1 never") == ""); // of the connection, not of mail
    CHECK(found(Stage::mail, "") == "");
    CHECK(warning == "");
}

TEST_CASE("a pattern that takes too long is skipped, which is said") {
    const std::string lines[] = {"/(a+)+$/ is permanent", "/b/ is temporary"};
    const auto rules = ReplyPatterns::parse(lines);
    REQUIRE(rules);
    std::string warning;
    CHECK(!rules->find(Stage::rcpt, "450 " + std::string(4000, 'a') + "b", warning));
    CHECK(warning.starts_with("/(a+)+$/: takes too long for the reply \"450 aaa"));
}

TEST_CASE("rules between if and endif are tried where the condition holds") {
    const std::string lines[] = {
        "if /^5/", "if !/relay/",        "/spam/ at END is temporary", "endif", "! /5\\.7\\.1/ at RCPT is temporary",
        "ENDIF",   "/spam/ is permanent"};
    const auto rules = ReplyPatterns::parse(lines);
    REQUIRE(rules);
    std::string warning;
    const auto found = [&](Stage stage, std::string_view reply) -> std::size_t {
        const auto one = rules->find(stage, reply, warning);
        return one ? one->number : 0;
    };
    CHECK(found(Stage::final_dot, "550 5.7.1 spam") == 2);
    CHECK(found(Stage::final_dot, "550 5.7.1 no relay for spam") == 6);
    CHECK(found(Stage::final_dot, "450 4.7.1 spam") == 6);
    CHECK(found(Stage::rcpt, "550 5.1.1 unknown") == 4);
    CHECK(found(Stage::rcpt, "550 5.7.1 unknown") == 0);
    CHECK(found(Stage::rcpt, "450 4.1.1 unknown") == 0);
    CHECK(warning == "");
    // A condition that takes too long does not hold, negated or not.
    for (const auto* condition : {"if /(a+)+$/", "if !/(a+)+$/"}) {
        const std::string slow[] = {condition, "/^450/ is permanent", "endif"};
        const auto read = ReplyPatterns::parse(slow);
        REQUIRE(read);
        CHECK(!read->find(Stage::rcpt, "450 " + std::string(4000, 'a') + "b", warning));
        CHECK(warning.find("takes too long") != std::string::npos);
    }
    const auto parsed = [](std::vector<std::string> all) {
        const auto read = ReplyPatterns::parse(all);
        return read ? "" : read.error().why;
    };
    CHECK(parsed({"if /x/", "/y/ is temporary"}) == "\"if /x/\" without \"endif\"");
    CHECK(parsed({"endif"}) == "\"endif\" without \"if\"");
    CHECK(parsed({"if /x/ is temporary", "endif"}) == "unexpected text after the pattern of \"if\"");
    CHECK(parsed({"if /x/", "endif /x/"}) == "unexpected text after \"endif\"");
}

TEST_CASE("what is not a rule is refused") {
    CHECK(why("/x/ is temporary").empty());
    CHECK(why("/x/i at DATA is permanent").empty());
    for (const auto* line :
         {"/x/", "/x/ temporary", "/x/ is", "/x/ is greylisted", "/x/ at EHLO is temporary", "/x/ is temporary now"})
        CHECK_MESSAGE(why(line).starts_with("expected \"at MAIL\""), line);
    CHECK(!why("550 is temporary").empty());
    CHECK(!why("/(/ is temporary").empty());
}
