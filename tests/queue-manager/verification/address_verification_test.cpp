// The verification of addresses without agents and without sockets: the servers it asks, how often, and its answers.
#include "daemons/queue-manager/verification/address_verification.h"
#include "libspool/disk/real_disk.h"
#include "tests/temporary_directory.h"
#include <doctest/doctest.h>
#include <filesystem>
#include <fmt/format.h>
#include <sys/socket.h>

using decide::verification::Deliverability;
using queue_manager::AddressVerification;
using queue_manager::DeliveryProbes;
using queue_manager::RouteQuery;
namespace delivery = proto::delivery;
using spool::Fate;
using namespace std::chrono_literals;

namespace {

std::string state_in(const std::string& spool) {
    auto directory = config::Verify::directory(spool);
    std::filesystem::create_directories(directory);
    return directory;
}

struct VerificationBench {
    TemporaryDirectory folder;
    common::Loop loop;
    common::Log log{loop, "queue-manager"};
    common::Metrics metrics;
    std::unique_ptr<spool::RealDisk> disk = *spool::RealDisk::open_at(folder.path().string());
    spool::CommitPool pool{*disk, 0, [] {}};
    struct Query {
        RouteQuery::Done done;
        RouteQuery::RoutesWanted wanted;
    };
    std::vector<Query> queries;
    std::vector<delivery::Probe> sent;
    std::vector<std::uint64_t> ended;
    std::string obstacle, problem;
    bool agent = true;
    config::Verify config;
    DeliveryProbes probes{{
        .query_route = {},
        .connect =
            [](const proto::route::Routed& route) {
                delivery::Connect out;
                out.link = route.link;
                return out;
            },
        .send = [this](const delivery::Probe& order) -> std::optional<DeliveryProbes::AgentId> {
            if (!agent) return {};
            sent.push_back(order);
            return 7;
        },
        .end = [this](auto, const delivery::EndProbe& order) { ended.push_back(order.attempt); },
        .obstacles = [](const auto&) { return std::vector<std::string>(); },
        .agent_user = [] { return std::string(); },
    }};
    std::unique_ptr<AddressVerification> verification = made();
    std::vector<std::string> answers; // "address: result: text"

    std::unique_ptr<AddressVerification> made() {
        return std::make_unique<AddressVerification>(
            AddressVerification::Dependencies{
                .loop = loop,
                .log = log,
                .metrics = metrics,
                .probes = probes,
                .query_route = [this](const auto&, const auto&, auto done,
                                      auto wanted) { queries.push_back({std::move(done), std::move(wanted)}); },
                .obstacle = [this](const auto&) { return obstacle; },
                .store = {.loop = loop,
                          .log = log,
                          .pool = pool,
                          .directory = state_in(folder.path().string()),
                          .report_problem = [this](std::string text) { problem = std::move(text); },
                          .read = {}}},
            config);
    }
    void drain() {
        for (int n = 0; n < 10; ++n) pool.drain();
    }
    void turn() {
        loop.defer([this] { loop.stop(); });
        loop.run();
    }
    void ask(const std::string& address) {
        verification->ask(address, [this, address](const auto& result) {
            answers.push_back(fmt::format("{}: {}: {}", address, name_of(result.what), result.text));
        });
    }
    // The answer of categorizer and router to the last question.
    void routed(const std::string& address, std::string link = "mx:b.example") {
        RouteQuery::RecipientRoute found;
        found.outcome.fate = Fate::remote;
        found.outcome.address = address;
        if (!queries.back().wanted({{found}, ""})) return unwanted(found);
        proto::route::Routed route;
        route.kind = decide::RouteKind::mx;
        route.domain = "b.example";
        route.link = std::move(link);
        found.route = route;
        queries.back().done({{found}, ""});
        turn();
    }
    void unwanted(const RouteQuery::RecipientRoute& found) {
        queries.back().done({{found}, ""});
        turn();
    }
    void settled(Fate fate, std::string text = "", std::size_t recipients = 1) {
        std::vector<RouteQuery::RecipientRoute> routes(recipients);
        for (auto& each : routes) each.outcome.fate = fate, each.outcome.text = text;
        queries.back().done({routes, ""});
        turn();
    }
    void replied(delivery::Outcome outcome, std::uint16_t code, smtp::Stage stage = smtp::Stage::rcpt) {
        delivery::ProbeStep step;
        step.attempt = sent.back().attempt;
        step.step = delivery::Step::rcpt;
        step.host = "mx.b.example[192.0.2.1]:25";
        step.reply.code = code;
        step.reply.text = fmt::format("{} said", code);
        if (code != 0) probes.said(7, step);
        delivery::ProbeResult result{sent.back().attempt, outcome, {}, ""};
        result.reason.code = code;
        result.reason.stage = stage;
        result.reason.text = fmt::format("host mx said: {}", code);
        probes.said(7, result);
        turn();
    }
    std::string answer() {
        REQUIRE(!answers.empty());
        return answers.back();
    }
};

const std::string in_progress = "unknown: Address verification in progress";

} // namespace

TEST_CASE("an address is asked about once, and its answer remembered") {
    VerificationBench b;
    b.ask("ann@b.example");
    b.ask("ANN@b.example");
    CHECK(b.queries.size() == 1);
    b.routed("ann@b.example");
    REQUIRE(b.sent.size() == 1);
    CHECK(b.sent[0].reverse_path.empty());
    CHECK(b.sent[0].recipients == std::vector<std::string>{"ann@b.example"});
    CHECK(b.answers.empty());
    b.replied(delivery::Outcome::delivered, 250);
    CHECK(b.answers ==
          std::vector<std::string>{"ann@b.example: deliverable: 250 said", "ANN@b.example: deliverable: 250 said"});
    b.ask("ann@b.example");
    CHECK(b.queries.size() == 1);
    CHECK(b.answers.size() == 3);
    CHECK(b.verification->forget("ann@b.example"));
    b.ask("ann@b.example");
    CHECK(b.queries.size() == 2);
}

TEST_CASE("only what is said about the recipient is a verdict") {
    VerificationBench b;
    b.ask("ann@b.example");
    b.routed("ann@b.example");
    SUBCASE("rejected") {
        b.replied(delivery::Outcome::failed, 550);
        CHECK(b.answer() == "ann@b.example: undeliverable: host mx said: 550");
    }
    SUBCASE("deferred") {
        b.replied(delivery::Outcome::deferred, 450);
        CHECK(b.answer() == "ann@b.example: unreachable: host mx said: 450");
    }
    SUBCASE("the sender is rejected") {
        b.replied(delivery::Outcome::failed, 553, smtp::Stage::mail);
        CHECK(b.answer() == "ann@b.example: unreachable: host mx said: 553");
    }
}

TEST_CASE("what is delivered here is not remembered") {
    VerificationBench b;
    const auto settles = [&](Fate fate, std::string text, std::size_t recipients) {
        b.ask("ann@here.example");
        b.settled(fate, text, recipients);
        return b.answer();
    };
    CHECK(settles(Fate::local, "", 1) == "ann@here.example: deliverable: is delivered here");
    CHECK(settles(Fate::failed, "User unknown", 1) == "ann@here.example: undeliverable: User unknown");
    CHECK(settles(Fate::unknown, "alias file", 1) == "ann@here.example: unreachable: alias file");
    CHECK(settles(Fate::remote, "", 3) == "ann@here.example: deliverable: aliased to 3 recipients");
    CHECK(b.queries.size() == 4);
    CHECK(b.sent.empty());
    CHECK(b.verification->size() == 0);
}

TEST_CASE("what cannot be asked now is not known") {
    VerificationBench b;
    b.ask("ann@b.example");
    SUBCASE("a paused link") {
        b.obstacle = "mail would wait: link paused";
        b.routed("ann@b.example");
    }
    SUBCASE("no agent") {
        b.agent = false;
        b.routed("ann@b.example");
    }
    SUBCASE("no categorizer") { b.queries.back().done({{}, "the categorizer is not running right now"}); }
    SUBCASE("the agent exits") {
        b.routed("ann@b.example");
        b.probes.gone(7);
    }
    CHECK(b.answer() == "ann@b.example: " + in_progress);
    b.obstacle.clear();
    b.agent = true;
    b.ask("ann@b.example"); // checked again
    b.routed("ann@b.example");
    b.replied(delivery::Outcome::delivered, 250);
    CHECK(b.answer() == "ann@b.example: deliverable: 250 said");
}

TEST_CASE("a link is asked about one address at a time; if it fails, the others are not known") {
    VerificationBench b;
    for (const auto* address : {"ann@b.example", "bob@b.example", "carol@b.example"}) {
        b.ask(address);
        b.routed(address);
    }
    b.ask("dave@c.example");
    b.routed("dave@c.example", "mx:c.example");
    CHECK(b.sent.size() == 2); // ann, and dave at another link
    const auto dave = b.sent.back();
    b.sent.pop_back();
    b.replied(delivery::Outcome::delivered, 250);
    REQUIRE(b.sent.size() == 2);
    CHECK(b.sent.back().recipients == std::vector<std::string>{"bob@b.example"});
    b.replied(delivery::Outcome::deferred, 0, smtp::Stage::connect);
    CHECK(b.answers == std::vector<std::string>{"ann@b.example: deliverable: 250 said",
                                                "bob@b.example: unreachable: host mx said: 0",
                                                "carol@b.example: " + in_progress});
    b.ask("erin@b.example"); // it rests
    b.routed("erin@b.example");
    CHECK(b.answer() == "erin@b.example: " + in_progress);
}

TEST_CASE("a link that was not asked does not rest") {
    VerificationBench b;
    for (const auto* address : {"ann@b.example", "bob@b.example"}) {
        b.ask(address);
        b.routed(address);
    }
    SUBCASE("the server cannot be given that address") {
        b.replied(delivery::Outcome::failed, 0);
        CHECK(b.answer() == "ann@b.example: undeliverable: host mx said: 0");
    }
    SUBCASE("the agent stops") {
        b.replied(delivery::Outcome::deferred, 0, smtp::Stage::none);
        CHECK(b.answer() == "ann@b.example: " + in_progress);
        CHECK_FALSE(b.verification->remembered("ann@b.example"));
    }
    REQUIRE(b.sent.size() == 2);
    CHECK(b.sent.back().recipients == std::vector<std::string>{"bob@b.example"});
    b.replied(delivery::Outcome::delivered, 250);
    CHECK(b.answer() == "bob@b.example: deliverable: 250 said");
}

TEST_CASE("that nothing is sent to an address does not make it a bad sender") {
    VerificationBench b;
    b.ask("ann@b.example");
    RouteQuery::RecipientRoute found;
    found.outcome.fate = Fate::failed;
    found.outcome.text = "on the suppression list";
    found.outcome.suppressed = true;
    b.queries.back().done({{found}, ""});
    CHECK(b.answer() == "ann@b.example: deliverable: is not asked about: nothing is sent to it");
    CHECK_FALSE(b.verification->remembered("ann@b.example"));
}

TEST_CASE("answers outlive the process, and a damaged store is replaced") {
    VerificationBench b;
    b.verification->begin();
    b.drain();
    b.ask("ann@b.example");
    b.routed("ann@b.example");
    b.replied(delivery::Outcome::failed, 550);
    b.verification->stop();
    b.drain();
    b.verification.reset();
    SUBCASE("intact") {
        b.verification = b.made();
        b.verification->begin();
        b.drain();
        b.ask("ann@b.example");
        CHECK(b.answers.size() == 2);
        CHECK(b.answer() == "ann@b.example: undeliverable: host mx said: 550");
    }
    SUBCASE("gone") {
        std::filesystem::remove_all(config::Verify::directory(b.folder.path().string()));
        std::filesystem::create_directories(config::Verify::directory(b.folder.path().string()));
        b.verification = b.made();
        b.verification->begin();
        b.drain();
        b.ask("ann@b.example");
        CHECK(b.answers.size() == 1);
        CHECK(b.problem.empty());
    }
}

TEST_CASE("too many that wait get their answer at once") {
    VerificationBench b;
    for (std::size_t n = 0; n < AddressVerification::most_waiting + 1; ++n) b.ask("ann@b.example");
    CHECK(b.answers == std::vector<std::string>{"ann@b.example: " + in_progress});
    CHECK(b.queries.size() == 1);
    for (int n = 0; n < 1000; ++n) b.verification->ask(fmt::format("{}@b.example", n), [](const auto&) {});
    CHECK(b.queries.size() == 1);
}

TEST_CASE("addresses whose servers do not answer take no place of those that are delivered here") {
    VerificationBench b;
    b.config.max_probes = 1;
    b.verification->configure(b.config);
    for (int link = 0; link < 25; ++link)
        for (int n = 0; n < 50; ++n) {
            const auto address = fmt::format("{}@{}.example", n, link);
            const auto before = b.queries.size();
            b.ask(address);
            if (b.queries.size() > before) b.routed(address, fmt::format("mx:{}.example", link));
        }
    CHECK(b.sent.size() == 1);
    CHECK(b.answers.size() == 250); // 1000 wait
    const auto before = b.queries.size();
    b.ask("ann@here.example");
    REQUIRE(b.queries.size() == before + 1);
    b.settled(Fate::local);
    CHECK(b.answer() == "ann@here.example: deliverable: is delivered here");
}

TEST_CASE("what is looked up has a limit of its own") {
    VerificationBench b;
    for (std::size_t n = 0; n < 1001; ++n) b.ask(fmt::format("{}@here.example", n));
    CHECK(b.queries.size() == 1000);
    CHECK(b.answers == std::vector<std::string>{"1000@here.example: " + in_progress});
    b.settled(Fate::local);
    b.ask("ann@here.example");
    CHECK(b.queries.size() == 1001);
}

TEST_CASE("a lookup that fails for now changes nothing about what is remembered") {
    VerificationBench b;
    b.config.positive_refresh = 0s;
    b.verification->configure(b.config);
    b.ask("ann@b.example");
    b.routed("ann@b.example");
    b.replied(delivery::Outcome::delivered, 250);
    b.ask("ann@b.example"); // and a check behind the answer
    REQUIRE(b.queries.size() == 2);
    SUBCASE("a table cannot be read") {
        b.settled(Fate::unknown, "table");
        CHECK(b.verification->remembered("ann@b.example"));
    }
    SUBCASE("it is delivered here now") {
        b.settled(Fate::local);
        CHECK_FALSE(b.verification->remembered("ann@b.example"));
    }
}

// ---- smtpd ----

namespace {

// A worker of smtpd that asks.
struct AskingWorker {
    using Channel = AddressVerification::Channel;
    VerificationBench& bench;
    std::vector<proto::verification::Verified> answers;
    std::size_t awaited = 0;
    std::unique_ptr<Channel> channel;

    explicit AskingWorker(VerificationBench& verifying) : bench(verifying) {
        int fds[2];
        REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) == 0);
        const auto end = [&](int fd) {
            return std::make_unique<Channel>(
                std::make_unique<ipc::Connection>(bench.loop, common::Fd(fd), nullptr),
                Channel::Callbacks{[this](proto::verification::Message&& message) {
                                       answers.push_back(std::get<proto::verification::Verified>(std::move(message)));
                                       if (answers.size() == awaited) bench.loop.stop();
                                   },
                                   [](const std::string& why) { FAIL(why); },
                                   {}});
        };
        channel = end(fds[0]);
        bench.verification->attach(end(fds[1]));
    }
    void ask(std::uint64_t request, const std::string& address) {
        static_cast<void>(channel->send(proto::verification::Verify{request, address}));
    }
    void await(std::size_t count) {
        awaited = count;
        if (answers.size() < count) bench.loop.run();
    }
};

} // namespace

TEST_CASE("questions that wait keep nobody from what is remembered") {
    VerificationBench b;
    b.ask("ann@b.example");
    b.routed("ann@b.example");
    b.replied(delivery::Outcome::delivered, 250);
    AskingWorker worker(b);
    for (std::uint64_t n = 0; n <= proto::verification::most_open; ++n) worker.ask(n, "hole@c.example");
    worker.ask(9999, "ann@b.example");
    worker.await(2);
    CHECK(worker.answers[0].request == proto::verification::most_open);
    CHECK(worker.answers[0].what == Deliverability::unknown);
    CHECK(worker.answers[1].request == 9999);
    CHECK(worker.answers[1].what == Deliverability::deliverable);
    b.verification.reset();
}

TEST_CASE("a question that nobody waits for any more is over, its check is not") {
    VerificationBench b;
    b.config.wait = 20ms;
    b.verification->configure(b.config);
    AskingWorker worker(b);
    worker.ask(1, "hole@c.example");
    b.ask("hole@c.example"); // an operator
    worker.await(1);
    CHECK(worker.answers[0].what == Deliverability::unknown);
    CHECK(b.answers.empty());
    b.routed("hole@c.example");
    b.replied(delivery::Outcome::failed, 550);
    CHECK(b.answer() == "hole@c.example: undeliverable: host mx said: 550");
    worker.ask(2, "hole@c.example");
    worker.await(2);
    CHECK(worker.answers[1].what == Deliverability::undeliverable);
    b.verification.reset();
}

TEST_CASE("what is no address is not asked about") {
    VerificationBench b;
    AskingWorker worker(b);
    for (const auto* address : {"", "ann@b.example\r\nDATA", "no address", "@"}) worker.ask(1, address);
    worker.ask(2, "postmaster");
    worker.ask(3, "ann@b.example");
    worker.await(4);
    b.turn();
    for (const auto& each : worker.answers) CHECK(each.what == Deliverability::unknown);
    CHECK(b.queries.size() == 2);
    b.verification.reset();
}
