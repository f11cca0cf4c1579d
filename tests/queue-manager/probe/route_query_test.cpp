#include "daemons/queue-manager/probe/route_query.h"
#include <doctest/doctest.h>

using namespace queue_manager;
namespace categorize = proto::categorize;
namespace route = proto::route;

namespace {

struct Bench {
    std::vector<categorize::Categorize> asked;
    std::vector<route::Route> routes;
    bool categorizer = true, router = true;
    std::vector<RouteQuery::Findings> found;
    RouteQuery inquiry{{[this](const auto& q) { return asked.push_back(q), categorizer; },
                        [this](const auto& q) { return routes.push_back(q), router; }}};
    void ask(const std::string& address) {
        inquiry.ask(address, "", [this](const auto& findings) { found.push_back(findings); });
    }
};

spool::ResolvedRecipient outcome(spool::Fate fate, std::string address) {
    spool::ResolvedRecipient out;
    out.fate = fate;
    out.address = std::move(address);
    return out;
}

route::Routed routed(std::uint64_t request, std::string domain) {
    route::Routed out;
    out.request = request;
    out.domain = std::move(domain);
    out.kind = decide::RouteKind::mx;
    out.link = "mx";
    return out;
}

} // namespace

TEST_CASE("an address becomes its final recipients, each with its route") {
    Bench b;
    b.ask("list@here.example");
    REQUIRE(b.asked.size() == 1);
    const auto number = b.asked[0].request;
    CHECK(b.asked[0].recipients.at(0).address == "list@here.example");
    CHECK(number > spool::QueueId::max);
    CHECK(b.inquiry.answered(categorize::Categorized{
        number,
        {outcome(spool::Fate::local, ""), outcome(spool::Fate::remote, "a@One.example"),
         outcome(spool::Fate::remote, "b@one.example"), outcome(spool::Fate::remote, "c@two.example")}}));
    CHECK(b.routes.size() == 2); // one for each destination
    CHECK(b.found.empty());
    CHECK(b.inquiry.answered(routed(number, "one.example")));
    CHECK(b.inquiry.answered(routed(number, "two.example")));
    REQUIRE(b.found.size() == 1);
    CHECK(b.found[0].error.empty());
    CHECK(b.found[0].routes.at(0).outcome.address == "list@here.example");
    CHECK(!b.found[0].routes[0].route);
    CHECK(b.found[0].routes.at(2).route->link == "mx");
    CHECK(b.inquiry.answered(routed(number, "one.example"))); // late, ours, no harm
    CHECK(b.found.size() == 1);
}

TEST_CASE("an address that stays as it is goes where its own domain leads") {
    Bench b;
    b.ask("ann@One.example");
    const auto number = b.asked.at(0).request;
    CHECK(b.inquiry.answered(categorize::Categorized{number, {outcome(spool::Fate::remote, "")}}));
    REQUIRE(b.routes.size() == 1);
    CHECK(b.routes[0].domain == "one.example");
}

TEST_CASE("answers for messages are not ours") {
    Bench b;
    CHECK(!b.inquiry.answered(categorize::Categorized{42, {}}));
    CHECK(!b.inquiry.answered(routed(0, "one.example")));
}

TEST_CASE("who is not there or goes away is named") {
    Bench b;
    b.categorizer = false;
    b.ask("a@one.example");
    CHECK(b.found.at(0).error.find("categorizer") != std::string::npos);
    b.categorizer = true;
    b.router = false;
    b.ask("a@one.example");
    b.inquiry.answered(categorize::Categorized{b.asked[1].request, {outcome(spool::Fate::remote, "a@one.example")}});
    CHECK(b.found.at(1).error.find("router") != std::string::npos);
    b.ask("a@one.example");
    b.inquiry.lost("categorizer");
    CHECK(b.found.at(2).error.find("exited") != std::string::npos);
    CHECK(b.found.size() == 3);
}

TEST_CASE("routes that are not wanted are not asked for") {
    Bench b;
    std::size_t asked = 0;
    const auto ask = [&](bool wanted) {
        b.inquiry.ask(
            "list@here.example", "", [&](const auto& findings) { b.found.push_back(findings); },
            [&asked, wanted](const auto& findings) {
                asked += findings.routes.size();
                return wanted;
            });
        return b.asked.back().request;
    };
    b.inquiry.answered(categorize::Categorized{ask(false), {outcome(spool::Fate::local, "")}});
    CHECK(asked == 0); // there are none
    CHECK(b.found.size() == 1);
    b.inquiry.answered(categorize::Categorized{
        ask(false), {outcome(spool::Fate::local, ""), outcome(spool::Fate::remote, "a@x.example")}});
    CHECK(asked == 2);
    CHECK(b.routes.empty());
    REQUIRE(b.found.size() == 2);
    CHECK(b.found[1].routes.size() == 2);
    CHECK(b.found[1].error.empty());
    const auto number = ask(true);
    b.inquiry.answered(categorize::Categorized{number, {outcome(spool::Fate::remote, "a@x.example")}});
    CHECK(b.found.size() == 2);
    b.inquiry.answered(routed(number, "x.example"));
    CHECK(b.found.size() == 3);
}
