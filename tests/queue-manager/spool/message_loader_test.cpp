// How often a message's file is read for those who want to know what it says.
#include "daemons/queue-manager/spool/message_loader.h"
#include "libspool/message/message_writer.h"
#include "libspool/store/store.h"
#include "tests/libspool/disk/fake_disk.h"
#include <doctest/doctest.h>
#include <string>

using namespace queue_manager;
using spool::Location;
using spool::QueueId;

namespace {

struct World {
    QueueId write(std::uint64_t tick) {
        const QueueId id{tick << 8 | 3};
        spool::Envelope envelope;
        envelope.reverse_path = "ann@example.org";
        envelope.recipients.emplace_back().address = "ben" + std::to_string(tick) + "@example.net";
        auto directory = spool::SharedDirectory::open(disk, directory_of(id, Location::incoming));
        spool::MessageWriter writer(pool, **directory, id, envelope);
        writer.append("Subject: x\r\n\r\n");
        writer.commit([](auto receipt) { REQUIRE(receipt); });
        pool.drain();
        size = disk.contents(path_of(id, Location::incoming)).size();
        return id;
    }
    MessageLoader::Then note(std::string word) {
        return [this, word = std::move(word)](const spool::MessageState& state, std::uint64_t) {
            told += word + ":" + state.recipients[0].address + " ";
        };
    }
    std::uint64_t files_read() const { return disk.bytes_read() / size; }

    std::string told;
    int asked_for = 0;
    std::size_t size = 1;
    spool::test::FakeDisk disk;
    spool::Result<> prepared = spool::prepare_spool(disk, {3});
    spool::CommitPool pool{disk, 0, [] {}};
    MessageLoader readings{pool, [this] { ++asked_for; },
                           [this](QueueId, const std::string&) { told += "unreadable "; }};
};

} // namespace

TEST_CASE("a thousand questions about one message: one reading, answered in their order") {
    World w;
    const auto id = w.write(500);
    std::string wanted;
    for (int n = 0; n < 1000; ++n) {
        w.readings.read(id, Location::incoming, w.note(std::to_string(n)));
        wanted += std::to_string(n) + ":ben500@example.net ";
    }
    CHECK(w.told.empty());
    CHECK(w.asked_for == 1);
    w.readings.begin();
    // Asked while it is read: what it says by then is not known.
    w.readings.read(id, Location::incoming, w.note("late"));
    w.readings.begin();
    CHECK(w.files_read() == 1);
    w.pool.drain();
    CHECK(w.told == wanted);
    w.pool.drain();
    CHECK(w.told == wanted + "late:ben500@example.net ");
    CHECK(w.files_read() == 2);
}

TEST_CASE("who is answered may ask again; other messages go their own way; what is gone answers nobody") {
    World w;
    const auto one = w.write(500), two = w.write(501);
    w.readings.read(one, Location::incoming, [&](const spool::MessageState&, std::uint64_t) {
        w.told += "first ";
        w.readings.read(one, Location::incoming, w.note("again"));
    });
    w.readings.read(two, Location::messages, w.note("two"));
    w.readings.read(QueueId{502 << 8 | 3}, Location::incoming, w.note("gone"));
    w.readings.begin();
    for (int n = 0; n < 3; ++n) w.pool.drain();
    CHECK(w.told == "first two:ben501@example.net again:ben500@example.net ");
    const auto path = path_of(one, Location::incoming);
    w.disk.set_contents(path, w.disk.contents(path).substr(0, 100));
    w.told.clear();
    w.readings.read(one, Location::incoming, w.note("damaged"));
    w.readings.begin();
    w.pool.drain();
    CHECK(w.told == "unreadable ");
}

TEST_CASE("what is to come after all reading comes last, also where there is nothing to read") {
    World w;
    const auto id = w.write(500), gone = QueueId{502 << 8 | 3};
    const auto say = [&](std::string word) { return [&w, word = std::move(word)] { w.told += word + " "; }; };
    w.readings.when_read(id, say("at once"));
    CHECK(w.told == "at once ");
    w.told.clear();
    w.readings.read(id, Location::incoming, [&](const spool::MessageState&, std::uint64_t) {
        w.told += "first ";
        w.readings.read(id, Location::incoming, w.note("again"));
    });
    w.readings.read(gone, Location::incoming, w.note("gone"));
    w.readings.when_read(id, say("last"));
    w.readings.when_read(gone, say("nothing"));
    w.readings.begin();
    CHECK(w.told.empty());
    for (int n = 0; n < 3; ++n) w.pool.drain();
    CHECK(w.told == "first nothing again:ben500@example.net last ");
    w.readings.when_read(gone, say("now"));
    CHECK(w.told.ends_with("last now "));
}
