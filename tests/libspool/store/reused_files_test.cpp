// What becomes of a message in a file that is overwritten for one message after another, when it is read, moved,
// removed or scanned, and to whom the file belongs next.
#include "libspool/message/file_search.h"
#include "libspool/message/message_reader.h"
#include "libspool/store/check.h"
#include "libspool/store/recovery.h"
#include "tests/libspool/store/post.h"

using namespace spool;
using namespace spool::test;

namespace {

// A spool, ready for mail.
struct Office {
    FakeDisk disk;
    Books books;
    Post post{disk, books};
    Office() {
        prepare(disk);
        REQUIRE(post.open());
    }
};

} // namespace

TEST_CASE("while somebody reads a finished message, its file is not overwritten") {
    Office office;
    auto& [disk, books, post] = office;
    const auto id = post.accept(300);
    REQUIRE(id);
    {
        const auto reader =
            MessageReader::open(disk, *id, post.store().hint(*id, Location::incoming), ReadLock::shared);
        REQUIRE(reader);
        post.deliver(*id);
        CHECK(post.files().free() == 0); // the reader keeps it
    }
    const auto gone = MessageReader::open(disk, *id, Location::incoming);
    REQUIRE_FALSE(gone);
    CHECK(std::get<Error>(gone.error()).code == ENOENT);
}

TEST_CASE("who reads without a lock, or comes late, gets the message or nothing: never another one") {
    Office office;
    auto& [disk, books, post] = office;
    const auto first = post.accept(3000);
    REQUIRE(first);
    const auto there = post.store().hint(*first, Location::incoming);
    post.deliver(*first);
    const auto second = post.accept(1000); // in the same file; the end of the first is still behind it
    REQUIRE(second);
    CHECK(post.store().hint(*second, Location::incoming).reused == there.reused);
    CHECK_FALSE(MessageReader::open(disk, *first, there));
    auto reader = MessageReader::open(disk, *second, Location::messages, ReadLock::none);
    REQUIRE(reader);
    CHECK(reader->file().reused == there.reused); // found by looking into the files
    CHECK(*reader->read_content() == books.at(*second).content);
    CHECK(*reader->stored_size() < 3000);
    // Any change of any byte that is used is seen.
    const auto path = path_of_reused(there.reused);
    const auto bytes = disk.contents(path);
    for (std::size_t at = 0; at < *reader->stored_size(); at += 7) {
        if (at >= 76 && at < 124) continue;  // unused, covered by the header's checksum
        if (at >= 128 && at < 192) continue; // marks of a log, which there is not
        auto changed = bytes;
        changed[at] = static_cast<char>(changed[at] ^ 0x20);
        disk.set_contents(path, changed);
        CAPTURE(at);
        CHECK_FALSE(MessageReader::open(disk, *second, there));
    }
}

TEST_CASE("a message that is not known to be in a reused file is found there by everything done to it") {
    for (int what = 0; what < 4; ++what) {
        FakeDisk disk;
        prepare(disk);
        Books books;
        QueueId id;
        {
            Post post(disk, books);
            REQUIRE(post.open());
            id = *post.accept(300);
        }
        Post later(disk, books); // a queue-manager that has not heard of it
        CommitPool pool(disk, 0, {});
        Store store(pool);
        std::optional<Result<>> outcome;
        const auto done = [&](Result<> result) { outcome = std::move(result); };
        if (what == 0) store.remove(id, Location::messages, done);
        if (what == 1) store.take_over(id, done);
        if (what == 2) store.append(id, Location::messages, {Held{.held = true}}, Sync::yes, done);
        if (what == 3) store.quarantine(id, Location::messages, "test", done);
        while (!outcome) {
            store.flush();
            pool.drain();
        }
        CAPTURE(what);
        CHECK(outcome->has_value());
        CHECK_FALSE(disk.exists(path_of_reused(id))); // it was named after this message
        CHECK(disk.exists(path_of(id, Location::messages)) == (what == 1));
        CHECK(disk.exists("quarantine/" + id.text()) == (what == 3));
        if (what == 2) CHECK(MessageReader::open(disk, id, Location::messages)->state().held);
    }
}

TEST_CASE("a new queue-manager gives back the files without a message that the writer still counts on") {
    Office office;
    auto& [disk, books, post] = office;
    const auto first = post.accept(300);
    const auto second = post.accept(300);
    const auto third = post.accept(300);
    REQUIRE((first && second && third));
    post.deliver(*first);
    CHECK(post.files().free() == 1);
    const auto again = post.accept(300); // in the first file
    REQUIRE(again);
    // The queue-manager wipes that, and dies before it says so; another one has found the third.
    CommitPool pool(disk, 0, {});
    Store store(pool);
    std::map<QueueId, bool> left;
    store.on_file_left([&](OccupiedFiles::Writer writer, QueueId file, bool reusable) {
        CHECK((writer == 9 || writer == connection));
        left[file] = reusable;
    });
    const auto settle = [&] {
        do {
            store.flush();
            pool.drain();
        } while (store.outstanding() > 0);
    };
    store.occupies(*again, *first, connection);
    store.remove(*again, Location::incoming);
    settle();
    left.clear();
    store.occupies(*third, *third, 0);
    store.still_in_use({*first, *second, *third}, 9);
    settle();
    CHECK(left.at(*first));        // free
    CHECK_FALSE(left.at(*second)); // a message that is not known yet: its own from now on
    CHECK_FALSE(left.contains(*third));
    store.remove(*third, Location::incoming);
    settle();
    CHECK(left.at(*third));
}

TEST_CASE("before a stop, every message leaves the reused files") {
    Office office;
    auto& [disk, books, post] = office;
    const auto first = post.accept(300);
    const auto second = post.accept(900);
    REQUIRE((first && second));
    post.deliver(*first);
    post.store().leave_reused_files();
    post.settle();
    CHECK(disk.exists(path_of(*second, Location::messages)));
    CHECK_FALSE(disk.exists(path_of_reused(*second)));
    CHECK(*MessageReader::open(disk, *second, Location::messages)->read_content() == books.at(*second).content);
}

TEST_CASE("files of a writer that is gone are removed when no message is in them") {
    FakeDisk disk;
    prepare(disk);
    Books books;
    QueueId free, full;
    {
        Post post(disk, books);
        REQUIRE(post.open());
        free = *post.accept(300);
        full = *post.accept(300);
        post.deliver(free);
        auto living = RecoveryScan::writer(disk, 7);
        while (!living.finished()) CHECK(living.step().quarantined.empty());
        CHECK(disk.exists(path_of_reused(free))); // its writer may be about to use it
    }
    auto scan = RecoveryScan::writer(disk, 7);
    std::vector<Found> found;
    while (!scan.finished()) {
        auto batch = scan.step();
        CHECK(batch.errors.empty());
        CHECK(batch.quarantined.empty());
        for (auto& each : batch.found) found.push_back(std::move(each));
    }
    CHECK_FALSE(disk.exists(path_of_reused(free)));
    REQUIRE(found.size() == 1);
    CHECK(found[0].id == full);
    CHECK(found[0].reused_file == full);
}

TEST_CASE("spool check counts messages in reused files, accepts free ones, and names a damaged one") {
    Office office;
    auto& [disk, books, post] = office;
    const auto first = post.accept(300);
    const auto second = post.accept(300);
    REQUIRE((first && second));
    post.deliver(*first);
    auto report = check_spool(disk);
    REQUIRE(report);
    CHECK(report->messages == 1);
    CHECK(report->findings.empty());
    auto bytes = disk.contents(path_of_reused(*second));
    bytes[400] = '#';
    disk.set_contents(path_of_reused(*second), bytes);
    report = check_spool(disk);
    REQUIRE(report);
    REQUIRE(report->findings.size() == 1);
    CHECK(report->findings[0].what == Finding::What::damaged);
}

TEST_CASE("a message that leaves its reused file while it is looked for is found under its own name") {
    for (const auto to : {Location::incoming, Location::messages}) {
        Office office;
        const auto id = office.post.accept(300);
        REQUIRE(id);
        // After its own places were searched, and before the reused files are listed.
        office.disk.before_listing([&] {
            office.disk.before_listing({});
            if (to == Location::incoming)
                office.post.hold(*id); // a record is written: first the file becomes the message's own
            else
                office.post.wait(*id);
        });
        CAPTURE(static_cast<int>(to));
        CHECK(MessageReader::open(office.disk, *id, Location::messages, ReadLock::none));
        CHECK(office.disk.exists(path_of(*id, to)));
    }
}
