#include "daemons/bounce/bounce.h"
#include "daemons/common/config/config.h"
#include "daemons/common/config/load.h"
#include "daemons/common/ipc/listener.h"
#include "daemons/common/net/local_socket.h"
#include "libspool/message/message_reader.h"
#include "libspool/store/store.h"
#include "tests/temporary_directory.h"
#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>
#include <iterator>

using namespace bounce;
using common::Loop;
using proto::Role;
using spool::QueueId;
namespace rp = proto::report;
namespace sm = proto::submission;

namespace {

// The daemon on one side, this test as the queue-manager on the other, one loop for both.
struct World {
    World() {
        disk = std::move(*spool::RealDisk::open_at(root));
        REQUIRE(spool::prepare_spool(*disk, {1, 2, 3}));
        auto parsed = config::parse("[spool]\ndirectory = \"" + root.string() +
                                        "\"\n[mta]\nhostname = \"mx.example.org\"\n"
                                        "origin = \"example.org\"\n",
                                    "test.toml", {"mx.example.org", "user", 2});
        REQUIRE(parsed);
        configuration = *parsed;
        listener.serve<rp::Message>(
            rp::conversation, {Role::bounce}, [this](ipc::Peer, std::unique_ptr<ipc::Channel<rp::Message>> channel) {
                reports = std::move(channel);
                reports->set_callbacks({[this](rp::Message&& m) { answers.push_back(std::get<rp::Reported>(m)); },
                                        [](const std::string&) {}});
            });
        listener.serve<sm::Message>(
            sm::conversation, {Role::bounce}, [this](ipc::Peer, std::unique_ptr<ipc::Channel<sm::Message>> channel) {
                submissions = std::move(channel);
                submissions->set_callbacks({[this](sm::Message&& m) {
                                                if (const auto* message = std::get_if<sm::Submitted>(&m))
                                                    submitted.push_back(*message);
                                            },
                                            [](const std::string&) {}});
            });
    }
    ~World() {
        daemon.reset();
        reports.reset();
        submissions.reset();
    }
    void start() {
        auto made = Bounce::create(context, {configuration, 1, {}, {}});
        REQUIRE_MESSAGE(made, (made ? "" : made.error().what));
        daemon = *std::move(made);
        wait([&] { return reports && submissions; });
    }
    void wait(const std::function<bool()>& until) {
        const auto end = Loop::now().monotonic + std::chrono::seconds(20);
        while (!until() && Loop::now().monotonic < end) uv_run(&loop.uv(), UV_RUN_ONCE);
        REQUIRE(until());
    }
    // A message of ours in the spool, committed by another writer.
    QueueId message(const spool::Envelope& envelope, std::string_view content) {
        bool done = false, woken = false;
        const QueueId id{0x0A1B2C3D4E5F02}; // pickup's slot: it alone says who is to be told
        std::mutex mutex;
        std::condition_variable wake;
        spool::CommitPool pool(*disk, 1, [&] {
            const std::lock_guard hold(mutex);
            woken = true;
            wake.notify_one();
        });
        auto directory = spool::SharedDirectory::open(*disk, "incoming/02");
        REQUIRE(directory);
        spool::MessageWriter writer(pool, **directory, id, envelope);
        writer.append(content);
        writer.commit([&](auto receipt) { done = receipt.has_value(); });
        std::unique_lock hold(mutex);
        wake.wait(hold, [&] { return woken; });
        hold.unlock();
        pool.drain();
        REQUIRE(done);
        return id;
    }
    rp::Report ask(QueueId id, smtp::ReportKind kind) {
        const auto asked = report(id, kind);
        static_cast<void>(reports->send(asked));
        return asked;
    }
    rp::Report report(QueueId id, smtp::ReportKind kind) {
        rp::Report report;
        report.request = ++request;
        report.queue_id = id;
        report.location = spool::Location::incoming;
        report.kind = kind;
        report.recipients = {{.number = 0, .kind = kind, .reason = {"5.1.1", "host mx said: 550 no", "550 no", "mx"}}};
        return report;
    }

    TemporaryDirectory directory{"run/private"};
    const std::filesystem::path root = directory.path();
    config::Config configuration;
    Loop loop;
    common::Log log{loop, "bounce"};
    std::unique_ptr<spool::RealDisk> disk;
    ipc::Listener listener{loop, log, *common::listen_local((root / "run/private/queue-manager").string(), 0600),
                           ipc::ExpectedTokens{"key", {Role::bounce}}};
    std::unique_ptr<ipc::Channel<rp::Message>> reports;
    std::unique_ptr<ipc::Channel<sm::Message>> submissions;
    common::DaemonContext context{loop,
                                  log,
                                  {Role::bounce, 1, {{"queue-manager", ipc::token_of("key", Role::bounce, 1)}}},
                                  (root / "run").string(),
                                  [](std::string_view) {}};
    std::unique_ptr<Bounce> daemon;
    std::vector<rp::Reported> answers;
    std::vector<sm::Submitted> submitted;
    std::uint64_t request = 0;
};

spool::Envelope envelope(std::string reverse_path) {
    spool::Envelope e;
    e.reverse_path = std::move(reverse_path);
    spool::EnvelopeRecipient r;
    r.address = "nobody@example.net";
    e.recipients = {r};
    return e;
}

} // namespace

TEST_CASE("a failure becomes a durable message to the sender, submitted until it is taken") {
    World w;
    w.start();
    const QueueId id = w.message(envelope("sender@example.com"), "Subject: s\r\n\r\nthe body\r\n");
    w.ask(id, smtp::ReportKind::failed);
    w.wait([&] { return !w.answers.empty() && !w.submitted.empty(); });
    CHECK(w.answers[0].request == 1);
    CHECK(w.answers[0].outcome == rp::Outcome::submitted);
    const QueueId report = w.answers[0].report_id;
    CHECK(report.slot() == 1);
    CHECK(w.submitted[0].queue_id == report);
    CHECK_FALSE(w.submitted[0].repeated);
    {
        auto reader = spool::MessageReader::open(*w.disk, report, spool::Location::incoming);
        REQUIRE(reader);
        CHECK(reader->envelope().reverse_path == "");
        CHECK(reader->envelope().recipients.at(0).address == "sender@example.com");
        CHECK(reader->envelope().parent == id);
        const auto content = reader->read_content();
        REQUIRE(content);
        CHECK(content->find("<nobody@example.net>: host mx said: 550 no") != std::string::npos);
        CHECK(content->find("\r\n\r\nthe body\r\n") != std::string::npos);
    }
    // Asked again: the same report, no second one.
    w.ask(id, smtp::ReportKind::failed);
    w.wait([&] { return w.answers.size() == 2; });
    CHECK(w.answers[1].request == 2);
    CHECK(w.answers[1].report_id == report);
    // A new queue-manager hears of it again until it takes it.
    w.submissions.reset();
    w.wait([&] { return w.submitted.size() == 2; });
    CHECK(w.submitted[1].queue_id == report);
    CHECK(w.submitted[1].repeated);
    w.submissions->send(sm::Taken{report});
    w.ask(id, smtp::ReportKind::delayed); // its answer comes behind
    w.wait([&] { return w.answers.size() == 3 && w.submitted.size() == 3; });
    w.submissions->send(sm::Taken{w.answers[2].report_id});
    bool stopped = false;
    w.daemon->stop(std::chrono::seconds(1), [&] { stopped = true; });
    CHECK(stopped);
}

TEST_CASE("nobody is told who does not want to know, and a report on a report ends in bad/") {
    World w;
    w.start();
    const QueueId id = w.message(envelope(""), "Subject: s\r\n\r\nbody\r\n");
    w.ask(id, smtp::ReportKind::delivered);
    w.wait([&] { return w.answers.size() == 1; });
    CHECK(w.answers[0].outcome == rp::Outcome::not_wanted);
    w.ask(id, smtp::ReportKind::delayed);
    w.wait([&] { return w.answers.size() == 2; });
    CHECK(w.answers[1].outcome == rp::Outcome::not_wanted);
    w.ask(id, smtp::ReportKind::failed);
    w.wait([&] { return w.answers.size() == 3; });
    CHECK(w.answers[2].outcome == rp::Outcome::kept_in_bad);
    CHECK(std::filesystem::exists(w.root / "bad" / id.text()));
    std::ifstream why(w.root / "bad" / (id.text() + ".why"));
    CHECK(std::string(std::istreambuf_iterator<char>(why), {}) == "<nobody@example.net>: 5.1.1 host mx said: 550 no\n");
    CHECK(w.submitted.empty());
}

TEST_CASE("of two who are to be told one is told once, whatever becomes of the other") {
    World world;
    world.start();
    auto from = envelope("");
    from.recipients.push_back(from.recipients[0]);
    from.recipients[1].reverse_path = "owner@example.org";
    const auto id = world.message(from, "Subject: x\r\n\r\n");
    // What nobody can be told goes to bad/, which cannot be written to.
    const auto bad = world.root / "bad";
    std::filesystem::rename(bad, world.root / "away");
    std::ofstream(bad) << "in the way";
    rp::Report report = world.report(id, smtp::ReportKind::failed);
    report.recipients.push_back(report.recipients[0]);
    report.recipients[1].number = 1;
    static_cast<void>(world.reports->send(report));
    world.wait([&] { return world.answers.size() == 1 && world.submitted.size() == 1; });
    CHECK(world.answers[0].outcome == rp::Outcome::try_later);

    std::filesystem::remove(bad);
    std::filesystem::rename(world.root / "away", bad);
    report.request = ++world.request;
    static_cast<void>(world.reports->send(report));
    world.wait([&] { return world.answers.size() == 2; });
    CHECK(world.answers[1].outcome == rp::Outcome::submitted);
    CHECK(world.answers[1].report_id == world.submitted[0].queue_id);
    std::filesystem::remove(world.root / "incoming/01/writer");
    CHECK(std::distance(std::filesystem::directory_iterator(world.root / "incoming/01"), {}) == 1);
}

TEST_CASE("what cannot be read now is tried later") {
    World w;
    w.start();
    w.ask(QueueId{0x0A1B2C3D4E5F03}, smtp::ReportKind::failed);
    w.wait([&] { return w.answers.size() == 1; });
    CHECK(w.answers[0].outcome == rp::Outcome::try_later);
    CHECK_FALSE(w.answers[0].text.empty());
}
