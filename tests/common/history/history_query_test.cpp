// Words of a history query: what they select, what is refused, and that the filter on bytes never hides a match.
#include "daemons/common/history/history_query.h"
#include "daemons/common/history/line_filter.h"
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using history::HistoryQuery;
using nlohmann::json;

namespace {

const smtp::WallTime now{std::chrono::seconds(1'764'172'800)}; // 2025-11-26T16:00:00Z

const json failed =
    json::parse(R"({"v":1,"seq":7,"node":"n","time":"2025-11-26T15:00:00.250000Z","type":"message.failed",
    "id":"0C5A0000001010","message_id":"<Abc.1@shop.example>",
    "sender":"Ann@Shop.example","recipient":"Bob@Remote.example",
    "original_recipient":"list@shop.example","submitter":"sasl:shop",
    "link":"mx.remote.example","queue":"remote.example",
    "code":550,"status":"5.1.1","text":"No such \"user\" here/there","class":"recipient","by":"remote",
    "remote":{"host":"mx1.remote.example","address":"192.0.2.9","port":25},"meta":{"Campaign":"spring"},
    "headers":{"subject":"Your invoice 4711"}})");
const json accepted =
    json::parse(R"({"v":1,"seq":5,"node":"n","time":"2025-11-20T15:00:00.000000Z","type":"message.accepted",
    "id":"0C5A0000001010","recipients":["one@a.example","two@b.example"],"source":"smtp","listener":"relay"})");
const json link_event = json::parse(
    R"({"v":1,"seq":9,"time":"2025-11-26T15:59:59.999999Z","type":"link.failed","link":"mx.remote.example"})");

HistoryQuery query(std::vector<std::string> words) {
    auto parsed = HistoryQuery::parse(words, now);
    REQUIRE_MESSAGE(parsed, parsed.error());
    return *std::move(parsed);
}

// Both tests of a query must agree.
bool matches(const std::vector<std::string>& words, const json& event) {
    const auto parsed = query(words);
    std::string lower;
    history::make_lower(event.dump(), lower);
    const bool found = parsed.matches(event);
    if (found) CHECK(history::LineFilter(parsed).may_match(lower));
    return found;
}

std::string refusal(std::vector<std::string> words) {
    const auto parsed = HistoryQuery::parse(words, now);
    REQUIRE_FALSE(parsed);
    return parsed.error();
}

} // namespace

TEST_CASE("each word selects what it names, whatever the case") {
    for (const auto* word : {"bob@remote.example",
                             "BOB@REMOTE.EXAMPLE",
                             "ann@shop.example",
                             "list@shop.example",
                             "abc.1@shop.example",
                             "<Abc.1@SHOP.example>",
                             "0C5A0000001010",
                             "0c5a0000001010",
                             "id=0c5a0000001010",
                             "message-id=<abc.1@shop.example>",
                             "message-id=abc.*",
                             "address=bob@remote.example",
                             "address=ann@shop.example",
                             "address=@remote.example",
                             "recipient=*@remote.example",
                             "recipient=list@*",
                             "sender=ann@shop.example",
                             "sender=@shop.example",
                             "domain=remote.example",
                             "domain=*.example",
                             "type=message.failed",
                             "type=failed",
                             "type=message.*",
                             "class=recipient",
                             "code=550",
                             "code=5xx",
                             "code=5??",
                             "status=5.1.1",
                             "status=5.*",
                             "text=such",
                             "text=no such \"user\"",
                             "text=here/there",
                             "by=remote",
                             "host=mx1.remote.example",
                             "host=192.0.2.9",
                             "link=mx.remote.example",
                             "submitter=sasl:shop",
                             "meta.Campaign=SPRING",
                             "header.Subject=your INVOICE 4711",
                             "header.subject=*invoice*",
                             "since=2h",
                             "since=2025-11-26T15:00:00Z",
                             "until=2025-11-26T15:00:01Z",
                             "since=2025-11-25"}) {
        CAPTURE(word);
        CHECK(matches({word}, failed));
    }
    for (const auto* word : {"bob@elsewhere.example",
                             "0C5A0000001011",
                             "id=1",
                             "message-id=abc",
                             "address=abc.1@shop.example",
                             "recipient=ann@shop.example",
                             "sender=bob@remote.example",
                             "sender=<>",
                             "domain=mx.remote.example",
                             "type=message",
                             "type=deferred",
                             "type=ailed",
                             "class=rate",
                             "code=4xx",
                             "code=55",
                             "status=5.1",
                             "text=nobody",
                             "by=local",
                             "host=mx2.remote.example",
                             "submitter=shop",
                             "meta.Campaign=autumn",
                             "meta.other=spring",
                             "header.subject=invoice",
                             "header.campaign=spring",
                             "since=30m",
                             "until=2h",
                             "until=2025-11-26T15:00:00Z",
                             "who=root",
                             "listener=relay"}) {
        CAPTURE(word);
        CHECK_FALSE(matches({word}, failed));
    }
}

TEST_CASE("all words must hold; several of one key are alternatives") {
    CHECK(matches({"domain=remote.example", "type=failed", "since=2d", "class=recipient"}, failed));
    CHECK_FALSE(matches({"domain=remote.example", "type=failed", "since=2d", "class=rate"}, failed));
    CHECK(matches({"class=rate", "class=recipient"}, failed));
    CHECK(matches({"bob@remote.example", "nobody@remote.example"}, failed));
    CHECK_FALSE(matches({"carl@remote.example", "nobody@remote.example"}, failed));
    CHECK(query({}).selects_all());
}

TEST_CASE("all recipients of an accepted message, the null sender, events of links") {
    CHECK(matches({"two@b.example"}, accepted));
    CHECK(matches({"domain=a.example"}, accepted));
    CHECK(matches({"sender=<>"}, accepted));
    CHECK(matches({"source=smtp", "listener=relay"}, accepted));
    CHECK_FALSE(matches({"sender=<>"}, link_event));
    CHECK(matches({"type=link.*", "link=mx.remote.example"}, link_event));
    CHECK_FALSE(matches({"code=550"}, link_event));
}

TEST_CASE("unknown words are refused, with those that there are") {
    CHECK(refusal({"bob"}).starts_with("\"bob\" is not a word for the history: expected id=, message-id=, address=, "));
    CHECK(refusal({"colour=red"}).find("meta.NAME=, header.NAME=, since=, until=, an address") != std::string::npos);
    CHECK(refusal({"header.=x"}).find("\"header.=x\"") != std::string::npos);
    CHECK(refusal({"meta.=x"}).find("\"meta.=x\"") != std::string::npos);
    CHECK(refusal({"domain="}) == "domain= needs a value");
    CHECK(refusal({"since=yesterday"}).starts_with("since=yesterday: expected a duration such as 2d"));
    CHECK(refusal({"since=2025-13-45"}).starts_with("since=2025-13-45: "));
}

TEST_CASE("events of any shape are compared, not trusted") {
    for (const auto* text : {"{}", "[]", "null", R"({"recipient":5})", R"({"recipients":[1,{}]})", R"({"remote":[]})",
                             R"({"meta":"x"})", R"({"code":{}})", R"({"type":"message.failed","sender":1})"}) {
        const auto event = json::parse(text);
        for (const auto* word :
             {"a@b.example", "domain=x", "host=x", "meta.x=y", "code=5", "sender=x", "since=1d", "text=x"})
            CHECK_FALSE(query({word}).matches(event));
    }
}

TEST_CASE("the filter on bytes rules out lines that cannot match") {
    std::string lower;
    history::make_lower("ABCxyz{}@[`\xC3\x84", lower);
    CHECK(lower == "abcxyz{}@[`\xC3\x84");
    history::make_lower(failed.dump(), lower);
    CHECK_FALSE(history::LineFilter(query({"carl@remote.example"})).may_match(lower));
    CHECK_FALSE(history::LineFilter(query({"bob@remote.example", "class=nosuch"})).may_match(lower));
    CHECK(history::LineFilter(query({"recipient=*"})).may_match(lower));
}

TEST_CASE("a client, by its name or address") {
    const auto rejected = json::parse(
        R"({"type":"session.rejected","client":{"name":"mail.evil.example","address":"192.0.2.66"},"code":550})");
    for (const auto* word : {"client=192.0.2.66", "client=192.0.2.*", "client=MAIL.evil.example", "type=rejected"}) {
        CAPTURE(word);
        CHECK(matches({word}, rejected));
    }
    CHECK_FALSE(matches({"client=192.0.2.6"}, rejected));
    CHECK_FALSE(matches({"host=192.0.2.66"}, rejected));
    CHECK_FALSE(matches({"client=192.0.2.66"}, json::parse(R"({"type":"auth.failed","client":"192.0.2.66"})")));
}
