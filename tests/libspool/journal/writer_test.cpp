// The journal's files on a disk that is stopped, or fails, at every operation: what was appended is there, no number
// names two lines, and every number that has no line is named.
#include "libspool/journal/names.h"
#include "libspool/journal/segment_end.h"
#include "libspool/journal/writer.h"
#include "tests/libspool/disk/fake_disk.h"
#include <algorithm>
#include <doctest/doctest.h>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <sstream>

using namespace spool;
using namespace spool::journal;
using spool::test::FakeDisk;

namespace {

const std::string random_bytes = "0123456789abcdef";
const smtp::WallTime noon{std::chrono::hours(12)};
constexpr Writer::Limits small{.bytes = 1500, .age = std::chrono::hours(1)};

// What a reader finds: whole lines by number, of files in their order; a newer file's lines count.
struct Journal {
    std::map<std::uint64_t, std::string> lines; // number and the line's own text
    std::set<std::uint64_t> named;              // numbers in gaps
    std::uint64_t synced = 0;
};

Journal read(const FakeDisk& disk) {
    Journal out;
    for (const auto& path : disk.paths()) { // sorted
        if (path == "history/synced") out.synced = decode_mark(synced_magic, disk.contents(path)).value_or(0);
        if (!first_in(path.substr(path.rfind('/') + 1), segment_suffix)) continue;
        std::istringstream in(disk.contents(path));
        for (std::string line; std::getline(in, line);) {
            const auto json = nlohmann::json::parse(line, nullptr, false);
            if (json.is_discarded() || in.eof()) continue;
            out.lines[json.at("seq")] = json.value("id", "");
            if (json.at("type") == "journal.gap")
                for (std::uint64_t n = json.at("from"); n <= json.at("to"); ++n) out.named.insert(n);
        }
    }
    return out;
}

// One life of a queue-manager: looks at the directory, writes some batches, stops.
struct Life {
    explicit Life(FakeDisk& disk, const Writer::Limits& limits = small)
        : directory(disk, "history"), writer(disk, directory, limits) {}
    bool begin() {
        auto looked = directory.look(random_bytes);
        if (!looked) return false;
        beginning = *std::move(looked);
        lines.start(beginning.node, beginning.next);
        for (const auto& missing : beginning.missing) lines.add_gap(missing, "stopped", noon);
        return true;
    }
    bool write(int count) {
        for (int n = 0; n < count; ++n)
            lines.add(EventType::message_accepted, noon, [&](JsonObject& o) {
                o.number("n", n);
                o.word("id", text());
            });
        return flush();
    }
    bool flush() {
        auto batch = lines.take(noon);
        auto appended = writer.append(batch, now);
        if (appended) {
            durable = batch.last;
            lines.written(std::move(batch));
            return true;
        }
        lines.lost(std::move(batch), appended.error().what);
        return false;
    }
    std::string text() const { return "line " + std::to_string(lines.last()); }

    Directory directory;
    Writer writer;
    Beginning beginning;
    PendingLines lines;
    std::uint64_t durable = 0; // append() has returned success up to it
    smtp::Monotonic now{};
};

FakeDisk& prepared(FakeDisk& disk, bool keeps_name) {
    disk.keeps_name = keeps_name;
    REQUIRE(disk.make_directory("history", 0700));
    Life first(disk);
    REQUIRE(first.begin());
    REQUIRE(first.write(3));
    REQUIRE(first.writer.stopped(first.lines.last()));
    return disk;
}

struct Found {
    std::uint64_t last = 0;
    std::optional<Numbers> damaged;
    bool operator==(const Found&) const = default;
};
Found found_in(std::string_view text, std::optional<std::uint64_t> before) {
    const auto end = end_of(text, before);
    return {end.last, end.damaged};
}

// Every number up to `last` has a line, or is named by a gap.
void check_complete(const Journal& journal, std::uint64_t last) {
    std::uint64_t unknown = 0;
    for (std::uint64_t n = 1; n <= last && unknown == 0; ++n)
        if (!journal.lines.contains(n) && !journal.named.contains(n)) unknown = n;
    CHECK(unknown == 0);
}

} // namespace

TEST_CASE("the first start makes the directory and an identity that stays") {
    FakeDisk disk;
    Life life(disk);
    REQUIRE(life.begin());
    CHECK(life.beginning.next == 1);
    CHECK(life.beginning.missing.empty());
    CHECK(disk.contents("history/node") == life.beginning.node + "\n");
    REQUIRE(life.write(2));
    disk.restart(FakeDisk::Keep::nothing);
    Life next(disk);
    REQUIRE(next.begin());
    CHECK(next.beginning.node == life.beginning.node);
    CHECK(read(disk).lines.size() == 2);
}

TEST_CASE("after an orderly stop numbers go on, after any other they jump and a gap says so") {
    FakeDisk disk;
    prepared(disk, true);
    {
        Life life(disk);
        REQUIRE(life.begin());
        CHECK(life.beginning.next == 4);
        REQUIRE(life.write(2)); // 4, 5; the mark of the orderly stop is old now
    }
    Life life(disk);
    REQUIRE(life.begin());
    CHECK(life.beginning.missing == std::vector{Numbers{6, 5 + Directory::skipped}});
    CHECK(life.beginning.next == 6 + Directory::skipped);
    REQUIRE(life.flush());
    const auto journal = read(disk);
    CHECK(journal.synced == life.beginning.next);
    check_complete(journal, life.lines.last());
    CHECK(disk.exists("history/" + segment_file(life.beginning.next, segment_suffix)));
}

TEST_CASE("another segment begins when one is full, or old") {
    FakeDisk disk;
    Life life(disk);
    REQUIRE(life.begin());
    for (int n = 0; n < 20; ++n) REQUIRE(life.write(1));
    const auto segments = [&] {
        std::vector<std::uint64_t> out;
        for (const auto& path : disk.paths())
            if (const auto first = first_in(path.substr(path.rfind('/') + 1), segment_suffix)) out.push_back(*first);
        return out;
    };
    const auto before = segments();
    CHECK(before.size() > 1);
    for (const auto& path : disk.paths()) CHECK(disk.contents(path).size() <= small.bytes);
    life.now += small.age;
    REQUIRE(life.write(1));
    CHECK(segments().size() == before.size() + 1);
    CHECK(segments().back() == 21);
    REQUIRE(life.write(30)); // larger than a segment: it has one of its own
    CHECK(segments().back() == 22);
    CHECK(read(disk).lines.size() == 51);
}

TEST_CASE("a power cut at every operation: what was appended is there, and every missing number is named") {
    for (const bool keeps_name : {true, false})
        for (const auto keep : {FakeDisk::Keep::nothing, FakeDisk::Keep::everything, FakeDisk::Keep::names_without_data,
                                FakeDisk::Keep::by_seed})
            for (std::uint64_t cut = 0;; ++cut) {
                FakeDisk disk;
                prepared(disk, keeps_name);
                disk.cut_power_after(cut);
                Life life(disk);
                if (life.begin())
                    for (int n = 0; n < 12 && life.write(1 + n % 3); ++n) {
                    }
                const bool ended = !disk.power_is_off();
                const auto durable = life.durable, last = std::max<std::uint64_t>(life.lines.last(), 3);
                disk.restart(keep, cut);
                INFO("cut " << cut << ", keep " << static_cast<int>(keep));
                Life after(disk);
                REQUIRE(after.begin());
                CHECK(after.beginning.node == "30313233-3435-4637-b839-616263646566");
                CHECK((after.beginning.next > last || durable == 0));
                REQUIRE(after.write(1));
                const auto journal = read(disk);
                for (std::uint64_t n = 1; n <= durable; ++n) CHECK(journal.lines.contains(n));
                CHECK(journal.synced == after.lines.last());
                check_complete(journal, after.lines.last());
                if (ended) break;
            }
}

TEST_CASE("a disk that fails at every operation: a new file repeats the lines, and nothing failed is synced again") {
    for (const int code : {EIO, ENOSPC})
        for (std::uint64_t at = 0;; ++at) {
            FakeDisk disk;
            prepared(disk, true);
            Life life(disk);
            REQUIRE(life.begin());
            const auto before = disk.operations();
            disk.fail_after(at, code);
            bool all = true;
            for (int n = 0; n < 12; ++n) all &= life.write(1 + n % 3);
            INFO("at " << at);
            CHECK(all); // one failure is never the end of lines
            CHECK_FALSE(disk.synced_after_failure());
            const auto journal = read(disk);
            CHECK(journal.lines.size() == life.lines.last());
            CHECK(journal.named.empty());
            if (disk.operations() - before < at) break;
        }
}

TEST_CASE("when nothing can be written the lines are lost, and named when it works again") {
    FakeDisk disk;
    prepared(disk, true);
    Life life(disk);
    REQUIRE(life.begin());
    REQUIRE(life.write(2)); // 4, 5
    disk.fail_all(ENOSPC);
    for (int n = 0; n < 3; ++n) CHECK_FALSE(life.write(2)); // 6 … 11, and 2 gaps
    disk.fail_all(0);
    REQUIRE(life.write(1));
    const auto journal = read(disk);
    check_complete(journal, life.lines.last());
    CHECK(journal.named.contains(6));
    CHECK_FALSE(journal.named.contains(5));
    CHECK(disk.exists("history/" + segment_file(life.lines.last() - 1, segment_suffix)));
}

TEST_CASE("a directory whose sync failed promises nothing any more") {
    FakeDisk disk;
    prepared(disk, false);
    Life life(disk);
    REQUIRE(life.begin());
    disk.fail_after(3, EIO); // create, write, sync of the file, sync of the directory
    CHECK_FALSE(life.write(1));
    CHECK_FALSE(life.write(1));
    CHECK_FALSE(disk.synced_after_failure());
}

TEST_CASE("the end of a segment: the last whole line, and damage before it") {
    const auto line = [](int n) { return "{\"v\":1,\"seq\":" + std::to_string(n) + ",\"type\":\"x\"}\n"; };
    const auto whole = line(7) + line(8) + line(9);
    CHECK(found_in(whole, 6) == Found{9, {}});
    CHECK(found_in(whole.substr(3), {}) == Found{9, {}});
    for (std::size_t size = 0; size < whole.size(); ++size) {
        const auto lines = size / line(7).size();
        CHECK(found_in(whole.substr(0, size), 6) == Found{lines == 0 ? 0 : 6 + lines, {}});
    }
    for (std::size_t at = 0; at < line(8).size() - 1; ++at) {
        auto damaged = whole;
        damaged[line(7).size() + at] = '\0';
        CHECK(found_in(damaged, 6) == Found{9, Numbers{8, 8}});
    }
    auto first = whole;
    first.replace(0, 30, 30, '\0'); // the first line's end and the start of the second are gone as well
    CHECK(found_in(first, 6).damaged == Numbers{7, 8});
    CHECK(found_in("{\"v\":1,\"seq\":18446744073709551616,\"a\":1}\n", 6) == Found{});
    CHECK(found_in("{\"v\":1,\"seq\":}\n{\"v\":2}\n\n", 6) == Found{});
    CHECK(found_in("", {}) == Found{});
}

TEST_CASE("a start knows the messages that the newest segment has as accepted and finished") {
    FakeDisk disk;
    const QueueId first{0x100}, second{0x200};
    const std::string odd = "\"ann \\ lee\"@example.org";
    {
        Life life(disk, Writer::Limits());
        REQUIRE(life.begin());
        const auto add = [&](EventType type, const std::string& id) {
            life.lines.add(type, noon, [&](JsonObject& o) {
                o.text("id", id);
                o.text("recipient", odd);
            });
        };
        add(EventType::message_accepted, first.text());
        add(EventType::message_accepted, second.text());
        add(EventType::message_finished, first.text());
        add(EventType::message_delivered, second.text());
        add(EventType::message_finished, "\",\"type\":\"message.finished\",\"id\":\"" + second.text());
        add(EventType::message_finished, "no id");
        REQUIRE(life.flush());
    }
    Life life(disk);
    REQUIRE(life.begin());
    const auto& tail = life.beginning.tail;
    CHECK(tail.accepted == std::unordered_set{first, second});
    CHECK(tail.finished == std::unordered_set{first});
    CHECK(tail.since == "1970-01-01T12:00:00.000000Z");
    CHECK(tail.has_end(second, odd));
    CHECK_FALSE(tail.has_end(second, "bob@example.org"));
    CHECK_FALSE(tail.has_end(first, odd));
    CHECK(tail.covers(noon));
    CHECK_FALSE(tail.covers(noon - std::chrono::microseconds(1))); // may be in an earlier segment
    CHECK_FALSE(Tail().covers(noon));
}
