#include "daemons/common/config/config.h"
#include "daemons/common/config/load.h"
#include "daemons/common/ipc/listener.h"
#include "daemons/common/net/local_socket.h"
#include "daemons/local/local.h"
#include "libspool/message/message_writer.h"
#include "libspool/store/store.h"
#include "tests/temporary_directory.h"
#include <doctest/doctest.h>
#include <semaphore>

using namespace local;
using common::Loop;
using proto::Role;
using spool::QueueId;
namespace dp = proto::delivery;

namespace {

// The daemon on one side, this test as the queue-manager on the other, one loop for both.
struct World {
    World() {
        disk = std::move(*spool::RealDisk::open_at(place.path()));
        REQUIRE(spool::prepare_spool(*disk, {3}));
        auto parsed = config::parse("[spool]\ndirectory = \"" + place.path().string() +
                                        "\"\n[mta]\nhostname = \"mx.example.org\"\nmulti_user = false\n[local]\n"
                                        "mailbox = \"maildir:" +
                                        place.path().string() + "/mail/{user}\"\n",
                                    "test.toml", {"mx.example.org", "user", 2});
        REQUIRE(parsed);
        configuration = *parsed;
        listener.serve<dp::Message>(dp::conversation, {Role::local},
                                    [this](ipc::Peer, std::unique_ptr<ipc::Channel<dp::Message>> channel) {
                                        peer = std::move(channel);
                                        peer->set_callbacks({[this](dp::Message&& m) { heard.push_back(std::move(m)); },
                                                             [](const std::string&) {}});
                                    });
        auto made = Local::create(context, {configuration, 1, {}, {}});
        REQUIRE(made);
        daemon = *std::move(made);
        wait([&] { return peer != nullptr; });
    }
    ~World() {
        daemon.reset();
        peer.reset();
    }
    void wait(const std::function<bool()>& until) {
        const auto end = Loop::now().monotonic + std::chrono::seconds(20);
        while (!until() && Loop::now().monotonic < end) uv_run(&loop.uv(), UV_RUN_ONCE);
        REQUIRE(until());
    }
    template <class M> std::vector<M> all() const {
        std::vector<M> out;
        for (const auto& message : heard)
            if (const auto* m = std::get_if<M>(&message)) out.push_back(*m);
        return out;
    }
    QueueId message(std::vector<std::string> recipients) {
        spool::Envelope envelope;
        envelope.reverse_path = "sender@example.com";
        envelope.arrival = smtp::WallTime(std::chrono::seconds(1795190098));
        for (auto& address : recipients) envelope.recipients.emplace_back().address = std::move(address);
        const QueueId id{0x0A1B2C3D4E5F03};
        std::binary_semaphore woken(0);
        spool::CommitPool pool(*disk, 1, [&] { woken.release(); });
        auto directory = spool::SharedDirectory::open(*disk, "incoming/03");
        REQUIRE(directory);
        spool::MessageWriter writer(pool, **directory, id, envelope);
        writer.append("Subject: s\r\n\r\nbody\r\n");
        bool done = false;
        writer.commit([&](auto receipt) { done = receipt.has_value(); });
        woken.acquire();
        pool.drain();
        REQUIRE(done);
        return id;
    }
    void deliver(QueueId id, std::vector<std::uint32_t> recipients) {
        dp::Deliver order;
        order.connection = 7;
        order.delivery = ++deliveries;
        order.queue_id = id;
        order.recipients = std::move(recipients);
        static_cast<void>(peer->send(order));
    }

    static std::filesystem::path socket(const TemporaryDirectory& place) {
        std::filesystem::create_directories(place.path() / "run/private");
        return place.path() / "run/private/queue-manager";
    }

    TemporaryDirectory place;
    config::Config configuration;
    Loop loop;
    common::Log log{loop, "local"};
    std::unique_ptr<spool::RealDisk> disk;
    ipc::Listener listener{loop, log, *common::listen_local(socket(place), 0600),
                           ipc::ExpectedTokens{"key", {Role::local}}};
    std::unique_ptr<ipc::Channel<dp::Message>> peer;
    common::DaemonContext context{loop,
                                  log,
                                  {Role::local, 0, {{"queue-manager", ipc::token_of("key", Role::local, 0)}}},
                                  (place.path() / "run").string(),
                                  [](std::string_view) {}};
    std::unique_ptr<Local> daemon;
    std::vector<dp::Message> heard;
    std::uint64_t deliveries = 0;
};

} // namespace

TEST_CASE("a connection is a place for deliveries, closed when asked and idle") {
    World w;
    static_cast<void>(w.peer->send(dp::Connect{7, "local", false, {}}));
    w.wait([&] { return w.all<dp::Connected>().size() == 1; });
    w.deliver(w.message({"ann@example.org", "bob@example.org"}), {0, 1});
    w.peer->send(dp::Close{7});
    w.wait([&] { return w.all<dp::Closed>().size() == 1; });
    CHECK(std::holds_alternative<dp::Closed>(w.heard.back())); // behind the result
    CHECK_FALSE(w.all<dp::Closed>()[0].failed);
    CHECK(w.all<dp::Closed>()[0].was_up);
    const auto done = w.all<dp::Done>();
    REQUIRE(done.size() == 1);
    CHECK(done[0].connection == 7);
    CHECK(done[0].delivery == 1);
    CHECK(done[0].results.size() == 2);
    CHECK(w.place.names("mail/ann/new").size() == 1);
    CHECK(w.place.names("mail/bob/new").size() == 1);
}

TEST_CASE("a result is told again to a new queue-manager until it is acknowledged") {
    World w;
    static_cast<void>(w.peer->send(dp::Connect{7, "local", false, {}}));
    const QueueId id = w.message({"ann@example.org"});
    w.deliver(id, {0});
    w.wait([&] { return w.all<dp::Done>().size() == 1; });
    w.peer.reset();
    w.wait([&] { return w.all<dp::Done>().size() == 2; });
    const auto again = w.all<dp::Done>()[1];
    CHECK(again.connection == 0);
    CHECK(again.queue_id == id);
    CHECK(again.results.size() == 1);
    w.peer->send(dp::Acknowledged{again.delivery});
    // The new one's numbers start anew; the old delivery is there once.
    w.deliveries = 0;
    static_cast<void>(w.peer->send(dp::Connect{7, "local", false, {}}));
    w.deliver(id, {0});
    w.wait([&] { return w.all<dp::Done>().size() == 3; });
    CHECK(w.all<dp::Done>()[2].delivery == 1);
    CHECK(w.all<dp::Done>()[2].results.at(0).outcome == dp::Outcome::delivered);
    CHECK(w.place.names("mail/ann/new").size() == 1);
    w.peer->send(dp::Acknowledged{1});
    w.peer->send(dp::Close{7});
    w.wait([&] { return w.all<dp::Closed>().size() == 1; });
    w.peer.reset();
    w.wait([&] { return w.peer != nullptr; });
    static_cast<void>(w.peer->send(dp::Connect{8, "local", false, {}}));
    w.wait([&] { return w.all<dp::Connected>().size() == 3; });
    CHECK(w.all<dp::Done>().size() == 3);
}

TEST_CASE("nonsense from the queue-manager closes the connection, and it is made anew") {
    World w;
    w.deliver(QueueId{0x1234}, {0}); // for a connection that was never opened
    auto* first = w.peer.get();
    w.wait([&] { return w.peer.get() != first || !w.peer->open(); });
    w.peer.reset();
    w.wait([&] { return w.peer != nullptr; });
    static_cast<void>(w.peer->send(dp::Connect{1, "local", false, {}}));
    w.wait([&] { return w.all<dp::Connected>().size() == 1; });
}
