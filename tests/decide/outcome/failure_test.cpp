// QUEUEING's table of kinds, row by row.
#include "daemons/decide/outcome/failure.h"
#include <doctest/doctest.h>
#include <vector>

using namespace decide;
using smtp::Stage;

TEST_CASE("whose failure, and for how long") {
    using enum FailureKind;
    using enum Severity;
    const struct {
        Observation seen;
        Failure failure;
    } table[] = {
        {{Stage::lookup, 0, "4.4.3"}, {connection, temporary}},
        {{Stage::lookup, 0, "5.4.4"}, {connection, permanent}},
        {{Stage::connect, 0, "4.4.1"}, {connection, temporary}},
        {{Stage::banner, 0, "4.4.2"}, {connection, temporary}},
        {{Stage::banner, 421, "4.7.0"}, {connection, temporary}},
        {{Stage::banner, 554, "5.7.1"}, {connection, permanent}},
        {{Stage::ehlo, 421, ""}, {connection, temporary}},
        {{Stage::ehlo, 550, ""}, {connection, permanent}},
        {{Stage::auth, 535, "5.7.8"}, {connection, permanent}},
        {{Stage::tls, 0, "4.7.4"}, {policy, temporary}},
        {{Stage::tls, 554, "5.7.0"}, {policy, temporary}},
        {{Stage::mail, 0, "4.4.2"}, {connection, temporary}},
        {{Stage::mail, 421, "4.3.2"}, {connection, temporary}},
        {{Stage::mail, 421, "4.7.0"}, {connection, temporary, true}},
        {{Stage::mail, 451, "4.7.1"}, {message, temporary}},
        {{Stage::mail, 550, "5.7.1"}, {message, permanent}},
        {{Stage::mail, 501, ""}, {message, permanent}},
        {{Stage::mail, 0, "5.6.3"}, {message, permanent}},
        {{Stage::rcpt, 0, "4.4.2"}, {connection, temporary}},
        {{Stage::rcpt, 421, ""}, {connection, temporary}},
        {{Stage::rcpt, 450, "4.2.0"}, {recipient, temporary}},
        {{Stage::rcpt, 550, "5.1.1"}, {recipient, permanent}},
        {{Stage::rcpt, 0, "5.1.3"}, {recipient, permanent}},
        {{Stage::data, 421, "4.3.2"}, {connection, temporary}},
        {{Stage::data, 0, "4.4.2"}, {message, temporary}},
        {{Stage::data, 451, ""}, {message, temporary}},
        {{Stage::data, 554, "5.5.1"}, {message, permanent}},
        {{Stage::content, 0, "4.4.2"}, {message, temporary}},
        {{Stage::final_dot, 0, "4.4.2"}, {message, temporary}},
        {{Stage::final_dot, 421, "4.3.2"}, {message, temporary}},
        {{Stage::final_dot, 452, "4.3.1"}, {message, temporary}},
        {{Stage::final_dot, 554, "5.6.0"}, {message, permanent}},
        {{Stage::final_dot, 452, "4.2.2", true}, {recipient, temporary}},
        {{Stage::final_dot, 552, "5.2.2", true}, {recipient, permanent}},
        {{Stage::content, 452, "4.2.2", true}, {recipient, temporary}},
        {{Stage::final_dot, 421, "4.3.2", true}, {message, temporary}},
        {{Stage::final_dot, 0, "4.4.2", true}, {message, temporary}},
        {{Stage::data, 451, "4.3.0", true}, {message, temporary}},
        {{Stage::local, 0, "4.2.2"}, {recipient, temporary}},
        {{Stage::local, 0, "5.1.1"}, {recipient, permanent}},
    };
    for (const auto& row : table) {
        CAPTURE(static_cast<int>(row.seen.stage));
        CAPTURE(row.seen.code);
        CAPTURE(row.seen.status);
        const auto failure = classify(row.seen);
        CHECK(static_cast<int>(failure.kind) == static_cast<int>(row.failure.kind));
        CHECK(static_cast<int>(failure.severity) == static_cast<int>(row.failure.severity));
        CHECK(failure.push_back == row.failure.push_back);
    }
    CHECK(classify({Stage::connect, 0, "4.4.1"}).next_host());
    // Credentials that one host refuses are not shown to the others; what only this host cannot do may be had there.
    CHECK(!classify({Stage::auth, 535, "5.7.8"}).next_host());
    CHECK(!classify({Stage::auth, 550, ""}).next_host());
    CHECK(!classify({Stage::auth, 0, "4.7.8"}).next_host());
    CHECK(classify({Stage::auth, 454, "4.7.0"}).next_host());
    CHECK(classify({Stage::auth, 0, "4.7.4"}).next_host());
    CHECK(classify({Stage::auth, 0, "4.4.2"}).next_host());
    CHECK(classify({Stage::banner, 554, "5.7.1"}).next_host());
    CHECK(!classify({Stage::rcpt, 421, "4.7.0"}).next_host());
    CHECK(!classify({Stage::rcpt, 450, "4.7.1"}).next_host());
}

TEST_CASE("a route's own reading of a reply") {
    using decide::ReplyRule;
    for (const char* text : {"550 5.7.1 at MAIL is temporary", "450 at RCPT is permanent", "552 at END is temporary"}) {
        const auto rule = ReplyRule::parse(text);
        REQUIRE(rule);
        CHECK(rule->to_string() == text);
    }
    for (const char* text :
         {"", "250 at MAIL is temporary", "550 at NOON is temporary", "550 5.7.1 MAIL temporary", "550 at MAIL is odd",
          "550 at MAIL is temporary now", "55 at MAIL is temporary", "550 at MAIL"})
        CHECK_FALSE(ReplyRule::parse(text));
    const auto rule = *ReplyRule::parse("550 5.7.1 at MAIL is temporary");
    CHECK(rule.covers({smtp::Stage::mail, 550, "5.7.1"}));
    CHECK_FALSE(rule.covers({smtp::Stage::mail, 550, "5.1.1"}));
    CHECK_FALSE(rule.covers({smtp::Stage::rcpt, 550, "5.7.1"}));
    CHECK_FALSE(rule.covers({smtp::Stage::mail, 551, "5.7.1"}));
    CHECK(ReplyRule::parse("552 at END is temporary")->covers({smtp::Stage::content, 552, ""}));
}

TEST_CASE("the first of a route's rules that covers a refusal reads it") {
    const std::vector<ReplyRule> rules = {*ReplyRule::parse("550 5.7.1 at RCPT is temporary"),
                                          *ReplyRule::parse("550 at RCPT is permanent"),
                                          *ReplyRule::parse("451 at END is permanent")};
    CHECK(reading(rules, {Stage::rcpt, 550, "5.7.1"}) == Severity::temporary);
    CHECK(reading(rules, {Stage::rcpt, 550, "5.1.1"}) == Severity::permanent);
    CHECK(reading(rules, {Stage::content, 451, "4.3.0"}) == Severity::permanent);
    CHECK(!reading(rules, {Stage::mail, 550, "5.7.1"}));
    CHECK(!reading(rules, {Stage::rcpt, 0, "4.4.2"}));
    CHECK(!reading({}, {Stage::rcpt, 550, "5.7.1"}));
    CHECK(reading({}, {Stage::mail, 503, "5.5.1"}) == Severity::temporary);
    CHECK(!reading({}, {Stage::rcpt, 503, "5.5.1"}));
    const std::vector<ReplyRule> strict = {*ReplyRule::parse("503 at MAIL is permanent")};
    CHECK(reading(strict, {Stage::mail, 503, "5.5.1"}) == Severity::permanent);
    CHECK(status_as("5.7.1", Severity::temporary) == "4.7.1");
    CHECK(status_as("", Severity::permanent) == "");
}

TEST_CASE("silence at or after DATA is a drop, an answer is none") {
    for (const auto stage : {Stage::data, Stage::content, Stage::final_dot}) {
        CHECK(dropped({stage, 0, "4.4.2"}));
        CHECK(!dropped({stage, 421, "4.3.2"}));
    }
    for (const auto stage : {Stage::connect, Stage::banner, Stage::mail, Stage::rcpt, Stage::local})
        CHECK(!dropped({stage, 0, "4.4.2"}));
}
