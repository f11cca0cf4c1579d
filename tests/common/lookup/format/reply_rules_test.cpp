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

TEST_CASE("what is not a rule is refused") {
    CHECK(why("/x/ is temporary").empty());
    CHECK(why("/x/i at DATA is permanent").empty());
    for (const auto* line :
         {"/x/", "/x/ temporary", "/x/ is", "/x/ is greylisted", "/x/ at EHLO is temporary", "/x/ is temporary now"})
        CHECK_MESSAGE(why(line).starts_with("expected \"at MAIL\""), line);
    CHECK(!why("550 is temporary").empty());
    CHECK(!why("/(/ is temporary").empty());
}
