#include "daemons/decide/queue/filter.h"
#include <doctest/doctest.h>

using namespace decide::queue;
using namespace std::chrono_literals;

namespace {

Facts some() {
    Facts f;
    f.id = "4F0D9A3B1C2D01";
    f.sender = "Shop@Example.org";
    f.recipients = {"ann@example.com", "bob@example.net"};
    f.domains = {"example.com", "example.net"};
    f.links = {"mx1.example.com"};
    f.states = {"retrying", "due"};
    f.reasons = {"connect to mx1.example.com[192.0.2.1]:25: Connection timed out"};
    f.lane = "bulk";
    f.submitter = "sasl:shop";
    f.pool = "bulk";
    f.policy = "slowly";
    f.message_id = "<1@shop.example>";
    f.subject = "Your order 17";
    f.age = 3h;
    f.size = 20'000;
    return f;
}

bool match(std::vector<std::string> words, const Facts& facts = some()) {
    const auto filter = Filter::parse(words);
    REQUIRE_MESSAGE(filter, (filter ? "" : filter.error()));
    return filter->matches(facts);
}

std::string wrong(std::vector<std::string> words) {
    const auto filter = Filter::parse(words);
    REQUIRE_FALSE(filter);
    return filter.error();
}

} // namespace

TEST_CASE("filter: each word, both ways") {
    struct Row {
        const char *yes, *no;
    };
    for (const Row& row : std::initializer_list<Row>{{"sender=*@example.org", "sender=*@example.com"},
                                                     {"SENDER=shop@EXAMPLE.org", "sender=shop"},
                                                     {"recipient=ann@*", "recipient=carl@*"},
                                                     {"domain=example.???", "domain=example"},
                                                     {"link=mx1.*", "link=mx2.*"},
                                                     {"id=4f0d*", "id=5*"},
                                                     {"age=+2h", "age=+4h"},
                                                     {"age=-1d", "age=-10m"},
                                                     {"size=+10K", "size=+1M"},
                                                     {"size=-20000", "size=-19999"},
                                                     {"state=due", "state=held"},
                                                     {"lane=bulk", "lane=high"},
                                                     {"reason=TIMED OUT", "reason=refused"},
                                                     {"submitter=sasl:*", "submitter=uid:*"},
                                                     {"pool=bulk", "pool=other"},
                                                     {"policy=slow*", "policy=exchange"},
                                                     {"message-id=<1@shop.example>", "message-id=<2@shop.example>"},
                                                     {"message-id=1@shop.example", "message-id=shop"},
                                                     {"subject=ORDER", "subject=invoice"}}) {
        CAPTURE(row.yes);
        CHECK(match({row.yes}));
        CHECK_FALSE(match({row.no}));
    }
    CHECK(match({"all"}));
}

TEST_CASE("filter: different words must all hold, equal ones are alternatives, bounds make a range") {
    CHECK(match({"state=held", "state=due", "lane=bulk"}));
    CHECK_FALSE(match({"state=due", "lane=high"}));
    CHECK(match({"age=+2h", "age=-4h"}));
    CHECK_FALSE(match({"age=+1h", "age=-2h"}));
    Facts nobody = some();
    nobody.sender = "";
    CHECK(match({"sender=<>"}, nobody));
    CHECK_FALSE(match({"sender=<>"}));
}

TEST_CASE("filter: what makes no sense is refused with what would") {
    CHECK(wrong({}).find("no filter given") != std::string::npos);
    CHECK(wrong({"shape=round"}).find("not a filter word") != std::string::npos);
    CHECK(wrong({"sender"}).find("not a filter word") != std::string::npos);
    CHECK(wrong({"sender="}) == "sender= needs a value");
    CHECK(wrong({"age=2h"}).find("age=+2h") != std::string::npos);
    CHECK(wrong({"age=+2x"}).find("age=+2h") != std::string::npos);
    CHECK(wrong({"age=+"}).find("age=+2h") != std::string::npos);
    CHECK(wrong({"age=+99999999999999w"}).find("age=+2h") != std::string::npos);
    CHECK(wrong({"size=+-5"}).find("size=+1M") != std::string::npos);
    CHECK(wrong({"size=+5KB"}).find("size=+1M") != std::string::npos);
    CHECK(wrong({"state=asleep"}).find("expected one of") != std::string::npos);
    CHECK(wrong({"lane=fast"}).find("expected one of") != std::string::npos);
    CHECK(wrong({"all", "lane=bulk"}).find("cannot be combined") != std::string::npos);
}

TEST_CASE("filter: what the queue itself knows is enough to rule out, never to rule in") {
    const std::vector<std::string> words = {"sender=a@b", "lane=high"};
    const auto filter = Filter::parse(words);
    REQUIRE(filter);
    CHECK(filter->needs_file(some()));
    CHECK(filter->ruled_out(some())); // another lane
    Facts high = some();
    high.lane = "high";
    CHECK_FALSE(filter->ruled_out(high));
    CHECK_FALSE(filter->matches(high));
    CHECK_FALSE(Filter::parse(std::vector<std::string>{"state=due"})->needs_file(some()));
    SUBCASE("a domain is in the file where the queue does not know it") {
        const auto domain = Filter::parse(std::vector<std::string>{"domain=example.org"});
        REQUIRE(domain);
        Facts rerouted = some();
        CHECK(domain->ruled_out(rerouted));
        CHECK_FALSE(domain->needs_file(rerouted));
        rerouted.domains = {"via:relay.example.com"};
        rerouted.domains_known = false;
        CHECK_FALSE(domain->ruled_out(rerouted));
        CHECK(domain->needs_file(rerouted));
    }
}

TEST_CASE("filter: wildcards") {
    CHECK(wildcard("*", ""));
    CHECK(wildcard("a*b*c", "AxxBxBc"));
    CHECK_FALSE(wildcard("a*b", "abc"));
    CHECK(wildcard("**", "x"));
    CHECK_FALSE(wildcard("?", ""));
    CHECK(wildcard("a?", "aB"));
}
