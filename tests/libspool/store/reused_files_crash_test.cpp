// A day of mail through few files that are overwritten for one message after another: stopped after every operation,
// with each sync left out, on a disk that fails; the books are compared.
#include "libspool/message/message_reader.h"
#include "libspool/store/recovery.h"
#include "tests/libspool/store/post.h"
#include <functional>
#include <optional>
#include <utility>

using namespace spool;
using namespace spool::test;
using Keep = FakeDisk::Keep;

namespace {

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

TEST_CASE("a promised record survives a power cut that undoes the rename of its file, and the next record") {
    bool undone = false;
    for (const auto& how : ways) {
        FakeDisk disk;
        prepare(disk);
        Books books;
        std::optional<QueueId> id;
        {
            Post post(disk, books);
            REQUIRE(post.open());
            id = post.accept(300);
            REQUIRE(id);
            post.hold(*id);
            REQUIRE(books.at(*id).hold_promised);
        }
        disk.restart(how.keep, how.seed);
        auto scan = RecoveryScan::everything(disk);
        std::optional<Found> found;
        while (!scan.finished())
            for (auto& one : scan.step().found) found = std::move(one);
        REQUIRE(found);
        undone = undone || found->reused_file.valid();
        Post post(disk, books);
        REQUIRE(post.open());
        if (found->reused_file.valid()) post.store().occupies(*id, found->reused_file, 0);
        post.store().append(*id, found->location, {PriorityChanged{3, "high", morning, "x", ""}}, Sync::yes);
        post.settle();
        const auto reader = MessageReader::open(disk, *id, Location::messages);
        REQUIRE(reader);
        CHECK(reader->state().held);
        CHECK(reader->state().priority == 3);
    }
    CHECK(undone); // or this tests nothing
}
