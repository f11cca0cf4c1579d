// Files that are overwritten for one message after another, on a disk that forgets what was not synced: a day of mail
// through few files, stopped after every operation; and readers while their file gets the next message.
#include "libspool/message/file_search.h"
#include "libspool/message/message_reader.h"
#include "libspool/message/message_writer.h"
#include "libspool/store/check.h"
#include "libspool/store/queue_id_source.h"
#include "libspool/store/recovery.h"
#include "libspool/store/store.h"
#include "tests/libspool/disk/fake_disk.h"
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

using namespace spool;
using spool::test::FakeDisk;
using Keep = FakeDisk::Keep;

namespace {

constexpr smtp::WallTime morning{std::chrono::seconds(1'750'000'000)};
constexpr OccupiedFiles::Writer connection = 3;
constexpr std::size_t few = 20; // entries of index/finished

struct Entry {
    std::string content;
    bool acknowledged = false;
    bool removal_asked = false; // it may be gone, and may come back
    bool removed = false;       // its file
    bool finished = false;      // its removal is in index/finished, durable: it must not come back
    bool aside_asked = false;
    bool hold_promised = false;
};
using Books = std::map<QueueId, Entry>;

// Full of its own number, so that a byte of another message shows.
std::string content_of(std::uint64_t number, std::size_t size) {
    std::string text = fmt::format("Subject: {}\r\n\r\n", number);
    while (text.size() < size) text += fmt::format("message {:06}\r\n", number);
    return text;
}

Envelope envelope_of(std::uint64_t number) {
    Envelope out;
    out.reverse_path = fmt::format("sender{}@example.org", number);
    out.recipients.push_back({.address = fmt::format("recipient{}@example.net", number)});
    return out;
}

// Of the ids that are assigned while the clock stands: one after the other.
const std::set<std::string>& hash_directories() {
    static std::set<std::string> out;
    if (!out.empty()) return out;
    FakeDisk disk;
    REQUIRE(prepare_spool(disk, {7}));
    const auto ids = QueueIdSource::open(disk, 7, morning);
    for (int n = 0; n < 8; ++n) out.insert(directory_of(*(*ids)->next(morning), Location::messages));
    return out;
}

// A writer and a queue-manager on one disk, on one thread.
class Post {
public:
    Post(FakeDisk& disk, Books& books)
        : disk_(disk), books_(books), finished_(disk, few), pool_(disk, 0, {}), store_(pool_, {{}, &finished_}) {}

    bool open() {
        if (!finished_.open()) return false;
        auto ids = QueueIdSource::open(disk_, 7, morning, &pool_);
        auto directory = SharedDirectory::open(disk_, "incoming/07");
        if (!ids || !directory) return false;
        ids_ = std::move(*ids);
        directory_ = std::move(*directory);
        store_.on_file_left([this](OccupiedFiles::Writer, QueueId file, bool reusable) {
            reusable ? files_.returned(file) : files_.lost(file);
        });
        return true;
    }

    // Accepted by the writer and taken over by the queue-manager.
    std::optional<QueueId> accept(std::size_t size) {
        const auto id = ids_->next(morning);
        if (!id) return {};
        const auto number = ++number_;
        auto& entry = books_[*id];
        entry.content = content_of(number, size);
        MessageWriter writer(pool_, *directory_, *id, envelope_of(number));
        writer.append(entry.content);
        const auto file = files_.lend(*id, writer.file_size().value());
        if (file) writer.commit_to(file);
        std::optional<QueueId> in;
        writer.commit([&](Result<DurableReceipt> receipt) {
            entry.acknowledged = receipt.has_value();
            if (receipt) in = receipt->reused_file();
        });
        pool_.drain();
        if (!entry.acknowledged) {
            if (file) files_.lost(file->name);
            return {};
        }
        if (in->valid()) {
            files_.passed_on(*in);
            store_.occupies(*id, *in, connection);
        }
        return *id;
    }
    void deliver(QueueId id) {
        books_.at(id).removal_asked = true;
        store_.remove(id, Location::incoming, [this, id](Result<> done) { books_.at(id).removed = done.has_value(); });
        settle();
    }
    void write_finished() {
        if (!finished_.has_unwritten() || !finished_.write()) return;
        for (auto& [id, entry] : books_)
            if (entry.removed) entry.finished = true;
    }
    void wait(QueueId id) {
        store_.take_over(id);
        settle();
    }
    void hold(QueueId id) {
        store_.append(id, Location::incoming, {Held{.held = true, .time = morning, .who = "x", .why = "test"}},
                      Sync::yes, [this, id](Result<> done) { books_.at(id).hold_promised = done.has_value(); });
        settle();
    }
    void put_aside(QueueId id) {
        books_.at(id).aside_asked = true;
        store_.quarantine(id, Location::incoming, "for the test");
        settle();
    }
    void settle() {
        while (store_.outstanding() > 0) {
            store_.flush();
            pool_.drain();
        }
        pool_.drain();
    }
    ReusableFiles& files() { return files_; }
    Store& store() { return store_; }

private:
    FakeDisk& disk_;
    Books& books_;
    FinishedMessages finished_;
    CommitPool pool_;
    Store store_;
    ReusableFiles files_{1024};
    std::unique_ptr<QueueIdSource> ids_;
    std::unique_ptr<SharedDirectory> directory_;
    std::uint64_t number_ = 0;
};

// The few directories of a spool that this day needs: all 256 of messages/ would take most of the test's time.
void prepare(FakeDisk& disk) {
    for (const char* path :
         {"incoming", "incoming/07", "messages", "removed", "quarantine", "quarantine/incomplete", "index"})
        REQUIRE(disk.make_directory(path, 0700));
    for (const auto& path : hash_directories()) REQUIRE(disk.make_directory(path, 0700));
    for (const char* path : {".", "incoming", "messages", "quarantine"})
        REQUIRE(disk.sync(*disk.open(path, Open::directory)));
}

void live(FakeDisk& disk, Books& books) {
    Post post(disk, books);
    if (!post.open()) return;
    const auto first = post.accept(300);
    const auto second = post.accept(2000);
    if (first) post.deliver(*first);
    const auto third = post.accept(200); // where the first was
    const auto fourth = post.accept(700);
    post.write_finished();
    if (second) post.wait(*second);
    if (third) post.deliver(*third);
    const auto fifth = post.accept(1500); // longer than what was there
    if (fifth) post.hold(*fifth);
    if (fourth) post.put_aside(*fourth);
    const auto sixth = post.accept(100);
    if (sixth) post.deliver(*sixth);
    const auto seventh = post.accept(250); // shorter than what was there
    if (seventh) post.deliver(*seventh);   // and wiped, but not overwritten any more
    post.write_finished();
    (void)post.accept(40'000); // too long for such a file
}

// What is wrong after a restart; empty: nothing.
std::string audit(FakeDisk& disk, const Books& books) {
    std::shared_ptr<const FinishedIndex> finished;
    {
        FinishedMessages messages(disk, few);
        if (auto index = messages.open()) finished = std::make_shared<const FinishedIndex>(*std::move(index));
    }
    std::map<QueueId, Found> found;
    auto scan = RecoveryScan::everything(disk, {.batch = 3, .finished = finished});
    while (!scan.finished()) {
        auto batch = scan.step();
        if (!batch.errors.empty()) return "recovery: " + batch.errors.front().what;
        for (auto& one : batch.quarantined)
            if (!one.incomplete) return "damaged: " + one.from + ": " + one.why;
        for (const auto id : batch.finished_before)
            if (!books.at(id).removal_asked) return "removed at recovery though it is not finished: " + id.text();
        for (auto& one : batch.found) {
            if (found.contains(one.id)) return "found twice: " + one.id.text();
            found.emplace(one.id, std::move(one));
        }
    }
    for (const auto& [id, one] : found) {
        const auto entry = books.find(id);
        if (entry == books.end()) return "invented: " + id.text();
        if (entry->second.finished) return "finished, and back: " + id.text();
        auto reader = MessageReader::open(disk, id, FileHint{one.location, one.reused_file});
        if (!reader) return "unreadable: " + id.text() + ": " + text_of(reader.error());
        const auto content = reader->read_content();
        if (!content) return "content: " + id.text() + ": " + text_of(content.error());
        if (*content != entry->second.content) return "content differs: " + id.text();
        if (entry->second.hold_promised && !reader->state().held) return "promised record lost: " + id.text();
        const auto anywhere = MessageReader::open(disk, id, Location::messages); // by somebody who knows only the id
        if (!anywhere) return "not found by its id: " + id.text();
    }
    for (const auto& [id, entry] : books) {
        if (!entry.acknowledged || entry.removal_asked || found.contains(id)) continue;
        if (entry.aside_asked && disk.exists("quarantine/" + id.text())) continue;
        return "lost: " + id.text();
    }
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
    prepare(disk);
    const auto before = disk.operations();
    disk.keeps_name = keeps_name;
    Books books;
    live(disk, books);
    return disk.operations() - before;
}

std::string stop_and_audit(std::uint64_t n, const How& how, bool keeps_name,
                           const std::function<bool(const std::string&)>& swallow = {}) {
    FakeDisk disk;
    prepare(disk);
    disk.keeps_name = keeps_name;
    if (swallow) disk.swallow(swallow);
    Books books;
    disk.cut_power_after(n);
    live(disk, books);
    disk.restart(how.keep, how.seed * 1000003 + n);
    return audit(disk, books);
}

} // namespace

TEST_CASE("a day through reused files: few files, every message whole, the books in order") {
    FakeDisk disk;
    prepare(disk);
    Books books;
    live(disk, books);
    CHECK(books.size() == 8);
    for (const auto& [id, entry] : books) CHECK(entry.acknowledged);
    std::size_t reused = 0;
    for (const auto& path : disk.paths()) reused += reused_file_named(path) ? 1 : 0;
    CHECK(reused == 1); // two of three were kept by messages that wait or were put aside
    CHECK(disk.syncs().contains("data incoming/REUSED"));
    disk.restart(Keep::everything);
    CHECK(audit(disk, books) == "");
}

TEST_CASE("the power goes at any operation: nothing promised is lost, nothing is mixed, what is finished stays so") {
    for (const bool keeps_name : {false, true}) {
        const auto all = operations_of_a_day(keeps_name);
        REQUIRE(all > 40);
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

TEST_CASE("leaving out the sync of a reused file, or of index/finished, is found out") {
    const auto all = operations_of_a_day(false);
    for (const char* name :
         {"file incoming/REUSED", "data incoming/REUSED", "data index/finished", "data incoming/ID (records)"}) {
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

TEST_CASE("the disk fails at any operation: refused or kept, and no failed file is written to again") {
    for (const int code : {EIO, ENOSPC})
        for (std::uint64_t n = 0, all = operations_of_a_day(false); n <= all; ++n)
            for (const auto& how : {ways[0], ways[2], ways[3]}) {
                FakeDisk disk;
                prepare(disk);
                Books books;
                disk.fail_after(n, code);
                live(disk, books);
                disk.restart(how.keep, n);
                CAPTURE(code);
                CAPTURE(n);
                CHECK(audit(disk, books) == "");
            }
}

TEST_CASE("while somebody reads a finished message, its file is not overwritten") {
    FakeDisk disk;
    prepare(disk);
    Books books;
    Post post(disk, books);
    REQUIRE(post.open());
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
    FakeDisk disk;
    prepare(disk);
    Books books;
    Post post(disk, books);
    REQUIRE(post.open());
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
    FakeDisk disk;
    prepare(disk);
    Books books;
    Post post(disk, books);
    REQUIRE(post.open());
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
    for (const auto file : {*first, *second, *third}) store.still_in_use(file, 9);
    settle();
    CHECK(left.at(*first));        // free
    CHECK_FALSE(left.at(*second)); // a message that is not known yet: its own from now on
    CHECK_FALSE(left.contains(*third));
    store.remove(*third, Location::incoming);
    settle();
    CHECK(left.at(*third));
}

TEST_CASE("before a stop, every message leaves the reused files") {
    FakeDisk disk;
    prepare(disk);
    Books books;
    Post post(disk, books);
    REQUIRE(post.open());
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
    FakeDisk disk;
    prepare(disk);
    Books books;
    Post post(disk, books);
    REQUIRE(post.open());
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
