// What is asked of whom in a probe, and what the operator is told of it.
#include "daemons/queue-manager/probe/delivery_probe.h"
#include <cerrno>
#include <doctest/doctest.h>
#include <fmt/format.h>

using namespace queue_manager;
namespace categorize = proto::categorize;
namespace delivery = proto::delivery;
namespace route = proto::route;
using spool::Fate;

namespace {

struct Bench {
    std::vector<RouteQuery::Done> inquiries;
    std::vector<delivery::Probe> sent;
    std::vector<std::uint64_t> ended;
    std::vector<std::string> obstacles;
    bool agent = true;
    smtp::RemoteReply failed = {.stage = delivery::Stage::rcpt}; // how
    std::string advice;                                          // the last
    std::string pool;
    std::string told; // a line per step: "finding step text"
    DeliveryProbes trials{{
        .query_route = [this](const auto&, const auto&, auto done) { inquiries.push_back(std::move(done)); },
        .connect =
            [this](const route::Routed& routed) {
                delivery::Connect out;
                out.link = routed.link;
                out.hosts = routed.hosts;
                out.pool = pool;
                return out;
            },
        .send = [this](const delivery::Probe& order) -> std::optional<DeliveryProbes::AgentId> {
            if (!agent) return {};
            sent.push_back(order);
            return 7;
        },
        .end = [this](auto, const delivery::EndProbe& order) { ended.push_back(order.attempt); },
        .obstacles = [this](const auto&) { return obstacles; },
        .agent_user = [] { return std::string("postrider"); },
    }};

    std::uint64_t begin(DeliveryProbes::Order order) {
        return trials.begin(std::move(order), {[this](const ProbeLine& line) {
                                                   told += fmt::format("{} {} {}\n", static_cast<int>(line.finding),
                                                                       line.step, line.text);
                                                   advice = line.advice;
                                               },
                                               [this] { told += "over\n"; },
                                               [this](auto error) { told += fmt::format("refused: {}\n", error); }});
    }
    void found(std::vector<RouteQuery::RecipientRoute> routes, std::string error = "") {
        REQUIRE(!inquiries.empty());
        inquiries.back()({std::move(routes), std::move(error)});
    }
    void step(delivery::Step what, std::string text, DeliveryProbes::AgentId from = 7) {
        delivery::ProbeStep out;
        out.attempt = sent.back().attempt;
        out.step = what;
        out.reply.text = std::move(text);
        trials.said(from, out);
    }
    void tried(delivery::Outcome outcome, std::string text = "", DeliveryProbes::AgentId from = 7) {
        delivery::ProbeResult out{sent.back().attempt, outcome, failed, ""};
        out.reason.text = std::move(text);
        trials.said(from, out);
    }
};

RouteQuery::RecipientRoute remote(std::string address, std::string domain = "y.example") {
    RouteQuery::RecipientRoute out;
    out.outcome.fate = Fate::remote;
    out.outcome.address = std::move(address);
    out.route.emplace();
    out.route->domain = domain;
    out.route->kind = decide::RouteKind::mx;
    out.route->link = "mx";
    out.route->hosts = {{"mx." + domain, 25, 10}};
    return out;
}

RouteQuery::RecipientRoute here(Fate fate, std::string who, std::string status = "") {
    RouteQuery::RecipientRoute out;
    out.outcome.fate = fate;
    out.outcome.address = out.outcome.user = who;
    out.outcome.status = out.outcome.text = std::move(status);
    return out;
}

const std::string to_mx = "0 categorize leaves this host\n0 route MX of y.example: mx.y.example (10)\n";

} // namespace

TEST_CASE("a host is named as in a route, with or without brackets") {
    struct Row {
        std::string_view text, name;
        std::uint16_t port;
    };
    const Row rows[] = {{"mx.y.example", "mx.y.example", 25},        {"mx.y.example:2525", "mx.y.example", 2525},
                        {"[mx.y.example]:587", "mx.y.example", 587}, {"192.0.2.1", "192.0.2.1", 25},
                        {"192.0.2.1:26", "192.0.2.1", 26},           {"2001:db8::1", "2001:db8::1", 25},
                        {"[2001:db8::1]:26", "2001:db8::1", 26}};
    for (const auto& [text, name, port] : rows) {
        const auto host = host_named(text);
        REQUIRE_MESSAGE(host, text);
        CHECK(*host == route::Host{std::string(name), port, 0});
    }
    for (std::string_view bad :
         {"", "[", "[]", "a b", "mx:0", "mx:99999", "mx:", "[mx]x", "mx.y.example:25:26", "mx/24"})
        CHECK_MESSAGE(!host_named(bad), bad);
}

TEST_CASE("the agent goes as a delivery would, and its steps are passed on") {
    Bench b;
    b.begin({.address = "a@y.example", .reverse_path = "me@x.example", .every_host = true});
    b.found({remote("a@y.example")});
    REQUIRE(b.sent.size() == 1);
    CHECK(b.sent[0].recipients == std::vector<std::string>{"a@y.example"});
    CHECK(b.sent[0].reverse_path == "me@x.example");
    CHECK(b.sent[0].every_host);
    CHECK(b.sent[0].connect.hosts[0].name == "mx.y.example");
    b.step(delivery::Step::connect, "connected");
    b.step(delivery::Step::client, "EHLO x"); // the conversation was not asked for
    b.tried(delivery::Outcome::delivered);
    CHECK(b.told == to_mx + "0 connect connected\n"
                            "0 result the recipient would be accepted; nothing was sent\nover\n");
    b.step(delivery::Step::connect, "too late");
    CHECK(b.told.ends_with("over\n"));
}

TEST_CASE("the result is the worst that was found, of servers and of our own") {
    Bench b;
    b.begin({.address = "list@x.example", .dialogue = true});
    b.found({here(Fate::local, "ann"), remote("a@y.example"), remote("b@y.example"), remote("c@z.example", "z.example"),
             here(Fate::failed, "gone", "5.1.1")});
    REQUIRE(b.sent.size() == 1);
    CHECK(b.sent[0].recipients.size() == 2);
    b.step(delivery::Step::client, "EHLO x");
    CHECK(b.told.ends_with("0 client EHLO x\n"));
    b.tried(delivery::Outcome::deferred, "not now");
    REQUIRE(b.sent.size() == 2);
    b.tried(delivery::Outcome::delivered);
    CHECK(b.told.ends_with("3 result mail would be returned: 5.1.1\nover\n"));
}

TEST_CASE("what is advised is about what stands in the way") {
    using Demand = smtp::FailureDetails::Demand;
    using Stage = delivery::Stage;
    struct Row {
        Stage stage;
        Demand demand;
        std::string_view word;
    };
    for (const auto& [stage, demand, word] :
         {Row{Stage::tls, Demand::records, "TLSA"}, Row{Stage::tls, Demand::policy, "mta-sts.y.example"},
          Row{Stage::rcpt, Demand::level, "temporarily"}}) {
        Bench b;
        b.failed.stage = stage;
        b.failed.details.demand = demand;
        b.begin({.address = "a@y.example"});
        b.found({remote("a@y.example")});
        b.tried(delivery::Outcome::deferred, "no");
        CHECK_MESSAGE(b.advice.find(word) != b.advice.npos, b.advice);
    }
}

TEST_CASE("how a server fell silent, and what a socket or a pool said, is in the advice") {
    using Stage = delivery::Stage;
    struct Row {
        delivery::ProbeResult tried;
        std::string_view word;
    };
    delivery::ProbeResult silent, forbidden, nowhere, wrapped;
    for (auto* each : {&silent, &forbidden, &nowhere, &wrapped}) {
        each->outcome = delivery::Outcome::deferred;
        each->reason.status = "4.4.2";
        each->host = "mx.y.example[192.0.2.1]:465";
    }
    silent.reason.stage = Stage::banner;
    silent.reason.details.timed_out = true;
    forbidden.reason.stage = nowhere.reason.stage = Stage::connect;
    forbidden.host = "localhost[/run/lmtp]";
    forbidden.reason.details.error = EACCES;
    nowhere.reason.details.error = EADDRNOTAVAIL;
    wrapped.reason.details.implicit_tls = true;
    wrapped.reason.stage = Stage::tls;
    const Row rows[] = {{silent, "sends no greeting"},
                        {forbidden, "/run/lmtp is not accessible to postrider"},
                        {nowhere, "[pool.bulk]"},
                        {wrapped, "remove implicit_tls"}};
    for (const auto& row : rows) {
        Bench b;
        b.pool = "bulk";
        b.begin({.address = "a@y.example"});
        auto recipient_route = remote("a@y.example");
        recipient_route.route->link = "y.example@bulk";
        recipient_route.route->hosts = {{.name = "mx.y.example", .port = 465, .tls_wrap = true}};
        b.found({recipient_route});
        auto tried = row.tried;
        tried.attempt = b.sent.back().attempt;
        b.trials.said(7, tried);
        CHECK_MESSAGE(b.advice.contains(row.word), b.advice);
    }
}

TEST_CASE("the records that were asked for are named, whose they are") {
    for (const bool by_srv : {false, true}) {
        Bench b;
        b.begin({.address = "a@y.example"});
        auto recipient_route = remote("a@y.example");
        recipient_route.route->kind = decide::RouteKind::permanent;
        recipient_route.route->status = "5.4.4";
        recipient_route.route->records_of = "provider.example";
        recipient_route.route->by_srv = by_srv;
        b.found({recipient_route});
        CHECK_MESSAGE(
            b.advice.contains(by_srv ? "dig SRV _submissions._tcp.provider.example" : "dig MX provider.example"),
            b.advice);
        CHECK(!b.advice.contains("MX y.example"));
    }
}

TEST_CASE("a socket has no port, a command is named") {
    Bench b;
    b.begin({.address = "list@x.example"});
    auto recipient_route = remote("a@y.example");
    recipient_route.route->kind = decide::RouteKind::configured;
    recipient_route.route->hosts = {{.name = "/run/lmtp", .port = 0}};
    auto command = here(Fate::local, "ann");
    command.outcome.target = "|/usr/bin/robot";
    b.found({command, recipient_route});
    CHECK(b.told.contains("is delivered here, to the command \"/usr/bin/robot\", as ann"));
    CHECK(b.told.contains("the socket /run/lmtp"));
    CHECK(!b.told.contains("port 0"));
}

TEST_CASE("what stays here is not asked of any server") {
    Bench b;
    b.begin({.address = "ann@x.example"});
    b.found({here(Fate::local, "ann")});
    CHECK(b.sent.empty());
    CHECK(b.told == "0 categorize is delivered here, to the mailbox of ann\n0 result mail is delivered here: "
                    "there is no server to try\nover\n");
}

TEST_CASE("a route that leads nowhere ends it, unless a host was named") {
    auto nowhere = remote("a@y.example");
    nowhere.route->kind = decide::RouteKind::permanent;
    nowhere.route->hosts.clear();
    nowhere.route->text = "no such domain";
    Bench b;
    b.begin({.address = "a@y.example"});
    b.found({nowhere});
    CHECK(b.sent.empty());
    CHECK(b.told == "0 categorize leaves this host\n3 route no such domain\n3 result mail would be returned: no such "
                    "domain\nover\n");
    b.begin({.address = "a@y.example", .host = route::Host{"other", 26, 0}});
    b.found({nowhere});
    REQUIRE(b.sent.size() == 1);
    CHECK(b.sent[0].connect.hosts == std::vector<route::Host>{{"other", 26, 0}});
}

TEST_CASE("what would hold mail up is said and does not hold up the trial") {
    Bench b;
    b.obstacles = {"link mx is paused by ann"};
    b.begin({.address = "a@y.example"});
    b.found({remote("a@y.example")});
    CHECK(b.told == to_mx + "1 queue link mx is paused by ann\n");
    CHECK(b.sent.size() == 1);
}

TEST_CASE("an alias of very many is tried for some, and the others are said to be left out") {
    Bench b;
    b.begin({.address = "all@x.example"});
    std::vector<RouteQuery::RecipientRoute> routes;
    for (std::size_t n = 0; n < DeliveryProbes::most_recipients + 1; ++n)
        routes.push_back(remote(fmt::format("u{}@y.example", n)));
    for (std::size_t n = 0; n < DeliveryProbes::most_transactions; ++n)
        routes.push_back(remote("u@z.example", fmt::format("z{}.example", n)));
    b.found(std::move(routes));
    std::size_t left_out = 0;
    for (auto at = b.told.find("omitted"); at != b.told.npos; at = b.told.find("omitted", at + 1)) ++left_out;
    CHECK(left_out == 2);
    CHECK(b.sent[0].recipients.size() == DeliveryProbes::most_recipients);
    for (std::size_t n = 0; n < DeliveryProbes::most_transactions; ++n) b.tried(delivery::Outcome::delivered);
    CHECK(b.sent.size() == DeliveryProbes::most_transactions);
    CHECK(b.told.ends_with("over\n"));
}

TEST_CASE("whoever is not there, or goes away, is named") {
    Bench b;
    b.begin({.address = "a@y.example"});
    b.found({}, "the categorizer is not running");
    CHECK(b.told == "refused: the categorizer is not running\n");
    b.told.clear();
    b.agent = false;
    b.begin({.address = "a@y.example"});
    b.found({remote("a@y.example")});
    CHECK(b.told == to_mx + "refused: no delivery agent (smtp-client) is connected: try again\n");
    b.told.clear();
    b.agent = true;
    b.begin({.address = "a@y.example"});
    b.found({remote("a@y.example")});
    b.trials.gone(8); // somebody else
    CHECK(b.told == to_mx);
    b.step(delivery::Step::connect, "nor does it speak for this one", 8);
    CHECK(b.told == to_mx);
    b.trials.gone(7);
    CHECK(b.told == to_mx + "refused: the delivery agent exited before it was done: try again\n");
}

TEST_CASE("when nobody listens any more the agent is told to end it, and nothing more is told") {
    Bench b;
    const auto number = b.begin({.address = "a@y.example"});
    b.found({remote("a@y.example")});
    b.step(delivery::Step::connect, "connected");
    b.trials.cancel(number);
    CHECK(b.ended == std::vector<std::uint64_t>{b.sent[0].attempt});
    b.step(delivery::Step::greeting, "220 hello");
    b.tried(delivery::Outcome::delivered);
    b.trials.gone(7);
    CHECK(b.told == to_mx + "0 connect connected\n");
    b.trials.cancel(number);
    CHECK(b.ended.size() == 1);
}

TEST_CASE("a trial that is abandoned before an agent has it, or after its end, disturbs no agent") {
    Bench b;
    b.trials.cancel(b.begin({.address = "a@y.example"}));
    b.found({remote("a@y.example")});
    CHECK(b.sent.empty());
    CHECK(b.told.empty());
    const auto over = b.begin({.address = "ann@x.example"});
    b.found({here(Fate::local, "ann")});
    b.trials.cancel(over);
    CHECK(b.told.ends_with("over\n"));
    CHECK(b.ended.empty());
}
