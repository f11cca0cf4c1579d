// The listing's readers: each gets the whole queue in parts, whoever reads nothing is let go, and nothing is gathered
// without bound.
#include "daemons/common/net/local_socket.h"
#include "daemons/common/runtime/wake.h"
#include "daemons/queue-manager/control/listing.h"
#include "libspool/format/layout.h"
#include "libspool/message/message_writer.h"
#include "libspool/store/store.h"
#include "tests/libspool/disk/fake_disk.h"
#include "tests/temporary_directory.h"
#include <cerrno>
#include <doctest/doctest.h>
#include <poll.h>
#include <sys/socket.h>

using namespace queue_manager;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t messages = 30, recipients = 400;

struct Place {
    explicit Place(const Listing::Limits& limits) {
        REQUIRE(spool::prepare_spool(disk, {3}));
        auto directory = spool::SharedDirectory::open(disk, spool::directory_of(id_of(0), spool::Location::incoming));
        REQUIRE(directory);
        spool::Envelope envelope;
        envelope.recipients.resize(recipients);
        for (auto& each : envelope.recipients) each.address = std::string(60, 'r') + "@example.net";
        for (std::size_t n = 0; n < messages; ++n) {
            spool::MessageWriter writer(pool, **directory, id_of(n), envelope);
            writer.append("Subject: x\r\n\r\n");
            writer.commit([](auto receipt) { REQUIRE(receipt); });
        }
        pool.drain();
        path = place.path() / "showq";
        auto fd = common::listen_local(path, 0600);
        REQUIRE(fd);
        listing = std::make_unique<Listing>(
            loop, log, pool, *std::move(fd),
            [](std::uint32_t& cursor) -> std::optional<decide::queue::MessageInfo> {
                decide::queue::MessageInfo info;
                info.id = id_of(cursor);
                info.location = spool::Location::incoming;
                if (++cursor == messages) cursor = 0;
                return info;
            },
            limits);
        listing->serve();
    }
    static spool::QueueId id_of(std::size_t n) { return spool::QueueId{((n + 500) << 8) | 3}; }
    common::Fd connect() {
        auto fd = common::connect_local(path);
        REQUIRE(fd);
        return *std::move(fd);
    }
    // Runs the loop until the condition holds; false: it took too long.
    bool run_until(const std::function<bool()>& condition) {
        bool late = false;
        common::Timer limit(loop, [&] { late = true; });
        limit.start(20s);
        std::function<void()> look;
        common::Timer step(loop, [&] { look(); });
        look = [&] {
            if (late || condition()) return loop.stop();
            step.start(1ms);
        };
        look();
        if (!late && condition()) return true;
        loop.run();
        return !late;
    }
    // What has come on it; its end is noted.
    static void read(const common::Fd& fd, std::string& text, bool& ended) {
        char space[65536];
        while (true) {
            const auto n = ::recv(fd.number(), space, sizeof space, MSG_DONTWAIT);
            if (n > 0)
                text.append(space, static_cast<std::size_t>(n));
            else
                return void(ended = ended || n == 0 || (errno != EAGAIN && errno != EWOULDBLOCK));
            if (text.empty()) return;
        }
    }

    common::Loop loop;
    common::Log log{loop, "qmgr"};
    spool::test::FakeDisk disk;
    common::Wake wake{loop, [this] { pool.drain(); }};
    spool::CommitPool pool{disk, 0, [this] { wake.signal(); }};
    TemporaryDirectory place;
    std::string path;
    std::unique_ptr<Listing> listing;
};

std::size_t addresses(const std::string& text) {
    std::size_t n = 0;
    for (auto at = text.find("@example.net"); at != text.npos; at = text.find("@example.net", at + 1)) ++n;
    return n;
}

} // namespace

TEST_CASE("a reader gets all of the queue, in parts") {
    Listing::Limits limits;
    limits.text = 10'000; // less than one message
    Place place(limits);
    const auto fd = place.connect();
    std::string text;
    bool ended = false;
    REQUIRE(place.run_until([&] {
        Place::read(fd, text, ended);
        return ended;
    }));
    CHECK(addresses(text) == messages * recipients);
}

TEST_CASE("who reads nothing is let go, and others go on though he holds all that may be unread") {
    Listing::Limits limits;
    limits.patience = 200ms;
    limits.unread = 1;
    Place place(limits);
    const auto idle = place.connect(), reader = place.connect();
    std::string text, of_idle;
    bool ended = false, dropped = false;
    REQUIRE(place.run_until([&] {
        Place::read(reader, text, ended);
        return ended;
    }));
    CHECK(addresses(text) == messages * recipients);
    REQUIRE(place.run_until([&] {
        // Looked at without reading: what was sent before stays to be read.
        pollfd look{idle.number(), 0, 0};
        dropped = ::poll(&look, 1, 0) == 1 && (look.revents & POLLHUP) != 0;
        return dropped;
    }));
    Place::read(idle, of_idle, ended);
    CHECK(addresses(of_idle) < messages * recipients);
}
