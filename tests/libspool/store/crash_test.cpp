// The promises, on a disk that forgets what was not synced: one day in the life of a spool, stopped after
// every single operation, recovered, and the books compared. The same must find something wrong as soon as
// any one sync is left out, and must hold when the disk fails instead of stopping.
#include "libspool/disk/reserve.h"
#include "libspool/message/message_reader.h"
#include "libspool/message/message_writer.h"
#include "libspool/store/queue_id_source.h"
#include "libspool/store/recovery.h"
#include "libspool/store/snapshot.h"
#include "libspool/store/store.h"
#include "tests/libspool/disk/fake_disk.h"
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <set>

using namespace spool;
using spool::test::FakeDisk;
using Keep = FakeDisk::Keep;

namespace {

constexpr smtp::WallTime morning{std::chrono::seconds(1'750'000'000)};

struct Entry {
    std::string content;
    Envelope envelope;
    bool acknowledged = false;
    bool removal_asked = false;        // may be gone, may come back
    bool aside_asked = false;          // quarantined by us
    std::uint32_t synced_failures = 0; // of recipient 0: what a synced record promised
};

// What the world outside was told.
struct Books {
    std::map<QueueId, Entry> messages;
    std::uint64_t highest_id = 0;
};

std::string content_of(std::size_t number, std::size_t size) {
    std::string text = fmt::format("Subject: {}\r\n\r\n", number);
    for (std::size_t line = 0; text.size() < size; ++line)
        text += fmt::format("line {} of message {}\r\n", line, number);
    return text;
}

// One day. Everything that fails is taken as a refusal, as a daemon would.
class Day {
public:
    Day(FakeDisk& disk, Books& books) : disk_(disk), books_(books) {}

    void live() {
        if (!prepare_spool(disk_, {7})) return;
        CommitPool pool(disk_, 0, {});
        auto ids = QueueIdSource::open(disk_, 7, morning, &pool);
        auto directory = SharedDirectory::open(disk_, "incoming/07");
        if (!ids || !directory) return;
        Store store(pool, {.log = {.log_limit = 10'000, .long_log = 0}}); // what is remembered is trusted all day

        std::vector<QueueId> accepted;
        for (std::size_t n = 0; n < 6; ++n) {
            const bool large = n == 1; // spilled piece by piece
            // The clock leaps in between, so that the ceiling has to be raised.
            const auto now = morning + std::chrono::minutes(n >= 3 ? 10 : 0);
            if (auto id = accept(pool, **directory, **ids, now, n, large ? 900 : 300)) accepted.push_back(*id);
        }
        for (std::size_t n = 0; n < accepted.size(); ++n) treat(pool, store, accepted[n], n);

        if (write_snapshot(disk_, Snapshot{morning, {}, "links"})) (void)take_snapshot(disk_);
    }

private:
    std::optional<QueueId> accept(CommitPool& pool, SharedDirectory& directory, QueueIdSource& ids, smtp::WallTime now,
                                  std::size_t number, std::size_t size) {
        const auto id = ids.next(now);
        if (!id) return {};
        books_.highest_id = std::max(books_.highest_id, id->value);
        Entry entry;
        entry.content = content_of(number, size);
        entry.envelope.reverse_path = fmt::format("sender{}@example.org", number);
        entry.envelope.recipients.resize(2);
        entry.envelope.recipients[0].address = "a@example.net";
        entry.envelope.recipients[1].address = "b@example.net";
        auto& kept = books_.messages[*id] = entry;
        MessageWriter writer(pool, directory, *id, kept.envelope, {.max_buffered = 500, .piece = 200});
        const auto received = kept.content;
        for (std::size_t at = 0; at < received.size(); at += 100) writer.append(received.substr(at, 100));
        if (number == 1 || number == 3) { // a filter has edited it
            auto& edits = kept.envelope.edits;
            edits.header_size = received.find("\r\n\r\n") + 4;
            edits.changes = {{FieldEdit::What::insert, 0, "X-Filter: seen\r\n"}};
            kept.envelope.verdict_reason = "edited";
            kept.content = "X-Filter: seen\r\n" + received;
            writer.set_envelope(kept.envelope, kept.content.substr(0, edits.header_size + 16));
        }
        writer.commit([&](Result<DurableReceipt> receipt) { kept.acknowledged = receipt.has_value(); });
        pool.drain();
        if (!kept.acknowledged) return {};
        return *id;
    }

    // What the queue-manager does to it.
    void treat(CommitPool& pool, Store& store, QueueId id, std::size_t number) {
        auto& entry = books_.messages[id];
        const auto settle = [&] {
            while (store.outstanding() > 0) {
                store.flush();
                pool.drain();
            }
        };
        if (number == 0) { // delivered at once
            entry.removal_asked = true;
            store.remove(id, Location::incoming);
            return settle();
        }
        store.take_over(id);
        settle();
        if (number == 2) {
            entry.aside_asked = true;
            store.quarantine(id, Location::messages, "for the test");
            return settle();
        }
        for (std::uint32_t n = 1; n <= 10; ++n) {
            const auto sync = n % 3 == 0 ? Sync::yes : Sync::no;
            Attempt attempt{{0}, morning, fmt::format("host{}", n), {}, Outcome::deferred, false, morning, n};
            attempt.reply.text = std::string(1500, 'x');
            store.append(id, Location::messages, {attempt}, sync, [&, n, sync](Result<> done) {
                if (done && sync == Sync::yes) entry.synced_failures = n;
            });
            settle();
        }
        if (number == 4) {
            entry.removal_asked = true;
            store.remove(id, Location::messages);
            settle();
        }
    }

    FakeDisk& disk_;
    Books& books_;
};

// What is wrong after a restart; empty: nothing.
std::string audit(FakeDisk& disk, const Books& books) {
    std::map<QueueId, Found> found;
    std::set<std::string> aside;
    auto scan = RecoveryScan::everything(disk, {.batch = 3});
    while (!scan.finished()) {
        auto batch = scan.step();
        if (!batch.errors.empty()) return "recovery: " + batch.errors.front().what;
        for (auto& one : batch.quarantined) {
            if (!one.incomplete) return "damaged: " + one.from + ": " + one.why;
            const auto id = QueueId::parse(one.from.substr(one.from.rfind('/') + 1));
            if (!id || !books.messages.contains(*id)) return "invented file " + one.from;
            if (books.messages.at(*id).acknowledged)
                return "acknowledged, now incomplete: " + one.from + ": " + one.why;
        }
        for (auto& one : batch.found) {
            if (found.contains(one.id)) return "found twice: " + one.id.text();
            found.emplace(one.id, std::move(one));
        }
    }
    for (const auto& [id, one] : found) {
        if (!books.messages.contains(id)) return "invented: " + id.text();
        const auto& entry = books.messages.at(id);
        auto reader = MessageReader::open(disk, id, one.location);
        if (!reader) return "unreadable: " + id.text() + ": " + text_of(reader.error());
        if (reader->envelope() != entry.envelope) return "envelope differs: " + id.text();
        const auto content = reader->read_content();
        if (!content) return "content: " + id.text() + ": " + text_of(content.error());
        if (*content != entry.content) return "content differs: " + id.text();
        if (reader->state().recipients[0].failures < entry.synced_failures)
            return fmt::format("promised record lost: {}: {} of {}", id.text(), reader->state().recipients[0].failures,
                               entry.synced_failures);
    }
    for (const auto& [id, entry] : books.messages) {
        if (!entry.acknowledged || entry.removal_asked || found.contains(id)) continue;
        if (entry.aside_asked && disk.exists("quarantine/" + id.text())) continue;
        return "lost: " + id.text();
    }
    // The clock stands where it stood in the morning, and yet no id comes twice.
    if (!books.messages.empty()) {
        auto ids = QueueIdSource::open(disk, 7, morning);
        if (!ids) return "no ids: " + ids.error().what;
        const auto id = (*ids)->next(morning);
        if (!id || id->value <= books.highest_id) return "queue id given out twice";
    }
    auto snapshot = take_snapshot(disk);
    if (!snapshot) return "snapshot: " + snapshot.error().what;
    if (disk.synced_after_failure()) return "a failed file was synced again";
    return {};
}

struct How {
    Keep keep;
    std::uint64_t seed;
};
constexpr How ways[] = {{Keep::nothing, 0},    {Keep::names_without_data, 0},
                        {Keep::everything, 0}, {Keep::by_seed, 1},
                        {Keep::by_seed, 2},    {Keep::by_seed, 3}};

std::uint64_t operations_of_a_day(bool keeps_name) {
    FakeDisk disk;
    disk.keeps_name = keeps_name;
    Books books;
    Day(disk, books).live();
    return disk.operations();
}

// Stops the day after operation n, restarts in that way, and looks.
std::string stop_and_audit(std::uint64_t n, const How& how, bool keeps_name,
                           const std::function<bool(const std::string&)>& swallow = {}) {
    FakeDisk disk;
    disk.keeps_name = keeps_name;
    disk.swallow(swallow);
    Books books;
    disk.cut_power_after(n);
    Day(disk, books).live();
    disk.restart(how.keep, how.seed * 1000003 + n);
    return audit(disk, books);
}

} // namespace

TEST_CASE("a day without misfortune ends with the books in order") {
    for (const bool keeps_name : {false, true}) {
        FakeDisk disk;
        disk.keeps_name = keeps_name;
        Books books;
        Day(disk, books).live();
        CHECK(books.messages.size() == 6);
        for (const auto& [id, entry] : books.messages) {
            CHECK(entry.acknowledged);
            CHECK((entry.synced_failures == 9) == (!entry.aside_asked && id != books.messages.begin()->first));
        }
        disk.restart(Keep::everything);
        CHECK(audit(disk, books) == "");
    }
}

TEST_CASE("the power goes at any operation: nothing promised is lost, nothing comes twice, nothing is invented") {
    for (const bool keeps_name : {false, true}) {
        const auto all = operations_of_a_day(keeps_name);
        REQUIRE(all > 100);
        for (std::uint64_t n = 0; n <= all; ++n)
            for (const auto& how : ways) {
                const auto wrong = stop_and_audit(n, how, keeps_name);
                CAPTURE(n);
                CAPTURE(static_cast<int>(how.keep));
                CAPTURE(how.seed);
                CHECK(wrong == "");
            }
    }
}

TEST_CASE("leaving out any one sync is found out") {
    // Every kind of sync of the day, by name; each matters on a disk that keeps names only with their
    // directory.
    FakeDisk ordinary;
    Books ordinary_books;
    Day(ordinary, ordinary_books).live();
    const std::set<std::string> expected = {
        "file incoming/ID",              // the message itself
        "directory incoming/SLOT",       // its name, and the writer's mark's
        "file incoming/writer",          // the first ceiling
        "data incoming/writer",          // a raised ceiling
        "directory incoming",            // the writers' directories
        "directory messages",            // the hash directories
        "directory quarantine",          // quarantine/incomplete
        "directory .",                   // the top ones
        "data messages/ID (records)",    // an operator's change, an expansion
        "data messages/ID (checkpoint)", // before the mark may point to it
        "data messages/ID (log mark)",   // before the old log may go
        "file index/snapshot.new",
        "directory index",
    };
    CHECK(ordinary.syncs() == expected);
    const auto all = ordinary.operations();
    for (const auto& name : expected) {
        if (name == "directory quarantine" || name.find("index") != std::string::npos) continue; // below
        std::string wrong;
        for (std::uint64_t n = 0; n <= all && wrong.empty(); ++n)
            for (const auto& how : ways) {
                wrong = stop_and_audit(n, how, false, [&](const std::string& each) { return each == name; });
                if (!wrong.empty()) break;
            }
        CAPTURE(name);
        CHECK(wrong != "");
    }
}

TEST_CASE("leaving out a sync of quarantine's or the snapshot's directory is found out") {
    const auto works = [](const char* swallowed) {
        FakeDisk disk;
        disk.swallow([&](const std::string& name) { return name == swallowed; });
        REQUIRE(prepare_spool(disk, {}));
        disk.restart(Keep::nothing);
        bool good = disk.exists("quarantine/incomplete");
        if (!good) REQUIRE(prepare_spool(disk, {}));
        REQUIRE(write_snapshot(disk, Snapshot{morning, {}, "links"}));
        disk.restart(Keep::nothing);
        const auto promised = take_snapshot(disk);
        good = good && promised && *promised && (*promised)->state == "links";
        disk.restart(Keep::nothing);
        const auto stale = take_snapshot(disk); // must not rise from the dead
        return good && stale && !*stale;
    };
    CHECK(works("nothing"));
    CHECK_FALSE(works("directory quarantine"));
    CHECK_FALSE(works("file index/snapshot.new"));
    CHECK_FALSE(works("directory index"));
}

TEST_CASE("the disk fails at any operation: refused or kept, and no failed file is synced again") {
    for (const int code : {EIO, ENOSPC}) {
        const auto all = operations_of_a_day(false);
        for (std::uint64_t n = 0; n <= all; ++n)
            for (const auto& how : {ways[0], ways[2], ways[3]}) {
                FakeDisk disk;
                Books books;
                disk.fail_after(n, code);
                Day(disk, books).live();
                disk.restart(how.keep, n);
                CAPTURE(code);
                CAPTURE(n);
                CHECK(audit(disk, books) == "");
            }
    }
}

TEST_CASE(
    "a message whose record could not be written or synced: a copy takes its place, and what comes next is kept") {
    for (std::uint64_t n = 0; n < 30; ++n) {
        FakeDisk disk;
        REQUIRE(prepare_spool(disk, {7}));
        CommitPool pool(disk, 0, {});
        auto ids = QueueIdSource::open(disk, 7, morning);
        auto directory = SharedDirectory::open(disk, "incoming/07");
        const auto id = *(*ids)->next(morning);
        Envelope envelope;
        envelope.recipients.push_back({.address = "a@x.example"});
        MessageWriter writer(pool, **directory, id, envelope);
        writer.append("a: b\r\n\r\n");
        writer.commit([](Result<DurableReceipt> r) { REQUIRE(r); });
        pool.drain();
        Store store(pool);
        const auto hold = [&](std::string why) {
            std::optional<Result<>> outcome;
            store.append(id, Location::incoming,
                         {Held{.held = true, .time = morning, .who = "x", .why = std::move(why)}}, Sync::yes,
                         [&](Result<> done) { outcome = std::move(done); });
            while (!outcome) {
                store.flush();
                pool.drain();
            }
            return *outcome;
        };
        disk.fail_after(n % 3, EIO); // the write, the sync; or nothing of the first
        const bool first = hold("first").has_value();
        // What failed is not in the file: whoever asked goes on as if it had not happened.
        CHECK((MessageReader::open(disk, id, Location::incoming)->state().held_why == "first") == first);
        if (n >= 3) disk.fail_after(n / 3, EIO); // some step of putting the copy in place
        const bool second = hold("second").has_value();
        CAPTURE(n);
        if (n < 2) CHECK(second);
        CHECK((hold("third") || hold("third")));             // the fault may have waited for it
        if (n < 3) CHECK_FALSE(disk.synced_after_failure()); // later ones: a directory's sync, which is tried again
        disk.restart(FakeDisk::Keep::nothing);
        auto reader = MessageReader::open(disk, id, Location::incoming);
        REQUIRE(reader);
        CHECK(*reader->read_content() == "a: b\r\n\r\n");
        CHECK(reader->state().held);
        CHECK(reader->state().held_why == "third");
    }
}

TEST_CASE("a disk that stays full refuses, says so by its code, and takes mail again") {
    FakeDisk disk;
    REQUIRE(prepare_spool(disk, {7}));
    CommitPool pool(disk, 0, {});
    auto ids = QueueIdSource::open(disk, 7, morning);
    auto directory = SharedDirectory::open(disk, "incoming/07");
    std::vector<std::optional<Error>> outcomes;
    for (const int code : {ENOSPC, EDQUOT, EIO, 0}) {
        disk.fail_all(code);
        MessageWriter writer(pool, **directory, *(*ids)->next(morning), Envelope{});
        writer.append("a: b\r\n\r\n");
        writer.commit([&](Result<DurableReceipt> r) {
            outcomes.push_back(r ? std::nullopt : std::optional(std::move(r).error()));
        });
        pool.drain();
    }
    REQUIRE(outcomes.size() == 4);
    CHECK(is_out_of_space(*outcomes[0]));
    CHECK(is_out_of_space(*outcomes[1]));
    CHECK_FALSE(is_out_of_space(*outcomes[2]));
    CHECK_FALSE(outcomes[3]);
}

TEST_CASE("the directory's sync fails once: no message through it is promised any more") {
    FakeDisk disk;
    REQUIRE(prepare_spool(disk, {7}));
    CommitPool pool(disk, 0, {});
    auto ids = QueueIdSource::open(disk, 7, morning);
    auto directory = SharedDirectory::open(disk, "incoming/07");
    int promised = 0, refused = 0;
    for (int n = 0; n < 3; ++n) {
        MessageWriter writer(pool, **directory, *(*ids)->next(morning), Envelope{});
        writer.append("a: b\r\n\r\n");
        if (n == 1) disk.fail_after(3, EIO); // create, write, sync, and now the directory
        writer.commit([&](Result<DurableReceipt> r) { ++(r ? promised : refused); });
        pool.drain();
    }
    CHECK(promised == 1);
    CHECK(refused == 2);
}

TEST_CASE("abandoned messages leave nothing, whatever their size") {
    FakeDisk disk;
    REQUIRE(prepare_spool(disk, {7}));
    CommitPool pool(disk, 0, {});
    auto ids = QueueIdSource::open(disk, 7, morning);
    auto directory = SharedDirectory::open(disk, "incoming/07");
    for (const std::size_t size : {10u, 5000u}) {
        MessageWriter writer(pool, **directory, *(*ids)->next(morning), Envelope{},
                             {.max_buffered = 1000, .piece = 1000});
        for (std::size_t n = 0; n < size; n += 10) writer.append("012345678\n");
        if (size == 10) writer.abandon();
    }
    pool.drain();
    CHECK(pool.outstanding() == 0);
    CHECK(disk.paths() == std::vector<std::string>{"incoming/07/writer"});
}
