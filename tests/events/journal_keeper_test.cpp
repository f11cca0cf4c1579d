// The journal's segments on a real disk: sealed, indexed, found by the index, removed; and given up and begun again.
#include "daemons/common/history/history_search.h"
#include "daemons/common/history/segment_index.h"
#include "daemons/events/journal_keeper.h"
#include "tests/temporary_directory.h"
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

using namespace events;
namespace fs = std::filesystem;

namespace {

constexpr std::int64_t now = 1'795'176'000 + 3600; // an hour after the events

struct Journal {
    TemporaryDirectory directory;
    std::atomic<bool> give_up = false;
    std::unique_ptr<JournalKeeper> keeper = *JournalKeeper::open(directory.path());
    std::uint64_t next = 1;

    // A segment of messages, three events each; those of the same number have the same id in every segment.
    void segment(int messages) {
        std::ofstream out(directory.path() / spool::segment_file(next, spool::plain_suffix));
        for (int i = 0; i < messages; ++i)
            for (const auto* type : {"accepted", "delivered", "finished"})
                out << fmt::format(
                    R"({{"v":1,"seq":{},"node":"n","time":"2026-11-20T12:00:00.000000Z","type":"message.{}",)"
                    R"("id":"0C5A{:06}1010","message_id":"<{}@shop.example>","sender":"ann@shop{}.example",)"
                    R"("recipient":"r{}@d{}.example","submitter":"uid:{}","meta":{{"n":"{}"}},)"
                    R"("headers":{{"subject":"Order {}"}},"text":"{}"}})"
                    "\n",
                    next++, type, i, i, i % 3, i, i % 7, i % 5, i, i, std::string(300, 'x'));
        std::ofstream synced(directory.path() / "synced", std::ios::binary);
        std::string number(8, '\0');
        for (int i = 0; i < 8; ++i) number[static_cast<std::size_t>(i)] = static_cast<char>((next - 1) >> (8 * i));
        synced << "PRSYNCED" << number;
    }
    KeeperReport work(const KeepLimits& limits = {}) {
        const auto report = keeper->work(limits, now, give_up);
        REQUIRE(report);
        return *report;
    }
    std::vector<KeeperWork> work_all(const KeepLimits& limits = {}) {
        std::vector<KeeperWork> done;
        for (auto report = work(limits); report.step; report = work(limits)) done.push_back(report.step->work);
        return done;
    }
    // How many events match, and the effort.
    std::pair<std::size_t, history::SearchEffort> find(const std::string& word) {
        auto disk = *spool::RealDisk::open_at(directory.path());
        auto search = *history::HistorySearch::open(*disk, ".", directory.path(), next - 1);
        const auto query = *history::HistoryQuery::parse(std::vector{word}, {});
        std::size_t found = 0;
        REQUIRE(search.newest_first(query, [&](const nlohmann::json&) { return ++found; }));
        return {found, search.effort()};
    }
    std::size_t events_of(const std::string& id) {
        auto disk = *spool::RealDisk::open_at(directory.path());
        auto search = *history::HistorySearch::open(*disk, ".", directory.path(), next - 1);
        std::size_t found = 0;
        REQUIRE(search.events_of({id}, [&](const nlohmann::json&) { ++found; }));
        return found;
    }
    bool exists(std::uint64_t first, std::string_view suffix) const {
        return fs::exists(directory.path() / spool::segment_file(first, suffix));
    }
};

} // namespace

TEST_CASE("segments are sealed and indexed, and every question has the same answer before and after") {
    Journal journal;
    for (const int messages : {2000, 1500, 10}) journal.segment(messages);
    const std::vector<std::pair<std::string, std::size_t>> questions = {{"r7@d0.example", 9},
                                                                        {"R1999@d4.example", 3},
                                                                        {"0C5A0000121010", 0},
                                                                        {"0C5A0000051010", 0},
                                                                        {"id=0C5A0019991010", 3},
                                                                        {"17@shop.example", 6},
                                                                        {"<5@shop.example>", 9},
                                                                        {"sender=ann@shop1.example", 0},
                                                                        {"domain=d3.example", 0},
                                                                        {"recipient=@d3.example", 0},
                                                                        {"submitter=uid:4", 0},
                                                                        {"meta.n=1234", 6},
                                                                        {"header.subject=order 77", 6},
                                                                        {"type=message.finished", 3510},
                                                                        {"r*@d6.example", 0},
                                                                        {"nobody@d0.example", 0},
                                                                        {"sender=@shop2.example", 0},
                                                                        {"since=2026-11-20T11:59:00Z", 10'530},
                                                                        {"since=2026-11-21T12:00:00Z", 0}};
    std::vector<std::size_t> before;
    for (const auto& [word, count] : questions) {
        before.push_back(journal.find(word).first);
        if (count > 0) CHECK(before.back() == count);
    }
    const auto of_one = journal.events_of("0C5A0000071010");
    CHECK(of_one == 9);
    CHECK(journal.find("r7@d0.example").second.unindexed == 2);
    CHECK(journal.work_all() == std::vector{KeeperWork::seal, KeeperWork::seal, KeeperWork::index, KeeperWork::index});
    CHECK_FALSE(journal.exists(1, spool::plain_suffix));
    CHECK(journal.exists(1, spool::sealed_suffix));
    CHECK(journal.exists(6001, spool::index_suffix));
    CHECK(journal.exists(10'501, spool::plain_suffix));
    for (std::size_t i = 0; i < questions.size(); ++i) {
        CAPTURE(questions[i].first);
        CHECK(journal.find(questions[i].first).first == before[i]);
    }
    CHECK(journal.find("r7@d0.example").second.unindexed == 0);
    CHECK(journal.events_of("0C5A0000071010") == of_one);
}

TEST_CASE("an index that is damaged or of another secret is not used, and is written again") {
    Journal journal;
    journal.segment(500);
    journal.segment(5);
    journal.work_all();
    CHECK(journal.find("r7@d0.example").second.unindexed == 0);
    const auto index = journal.directory.path() / spool::segment_file(1, spool::index_suffix);
    fs::resize_file(index, 100);
    CHECK(journal.find("r7@d0.example").first == 3 + 0);
    CHECK(journal.find("r7@d0.example").second.unindexed == 1);
    fs::remove(index);
    CHECK(journal.work_all() == std::vector{KeeperWork::index});
    fs::remove(journal.directory.path() / history::index_secret_file);
    CHECK(journal.find("r499@d2.example").first == 3);
    journal.keeper = *JournalKeeper::open(journal.directory.path());
    CHECK(journal.work_all() == std::vector{KeeperWork::index});
    CHECK(journal.find("r499@d2.example").second.unindexed == 0);
}

TEST_CASE("a search can be cancelled") {
    Journal journal;
    journal.segment(2000);
    auto disk = *spool::RealDisk::open_at(journal.directory.path());
    auto search = *history::HistorySearch::open(*disk, ".", journal.directory.path(), journal.next - 1);
    const auto query = *history::HistoryQuery::parse(std::vector<std::string>{"type=message.finished"}, {});
    int asked = 0;
    search.cancel_if([&] { return ++asked == 2; });
    std::size_t found = 0;
    const auto done = search.newest_first(query, [&](const nlohmann::json&) { return ++found > 0; });
    REQUIRE_FALSE(done);
    CHECK(done.error().code == ECANCELED);
    CHECK(found > 0);
    CHECK(found < 2000);
}

TEST_CASE("old segments are removed whole, one at a time") {
    Journal journal;
    for (int i = 0; i < 4; ++i) journal.segment(100);
    journal.work_all();
    CHECK(journal.work({.seconds = 3000}).step == KeeperStep{KeeperWork::remove, 1});
    for (const auto suffix : {spool::plain_suffix, spool::sealed_suffix, spool::frames_suffix, spool::index_suffix})
        CHECK_FALSE(journal.exists(1, suffix));
    CHECK(journal.work_all({.bytes = 1}) == std::vector{KeeperWork::remove, KeeperWork::remove});
    CHECK(journal.find("domain=d0.example").first == 15 * 3);
}

TEST_CASE("a step that was given up is begun again") {
    Journal journal;
    journal.segment(2000);
    journal.segment(1);
    journal.give_up = true;
    CHECK(journal.work().step->work == KeeperWork::seal);
    CHECK(journal.exists(1, spool::plain_suffix));
    journal.give_up = false;
    CHECK(journal.work().step->work == KeeperWork::seal);
    journal.give_up = true;
    CHECK(journal.work().step->work == KeeperWork::index);
    CHECK_FALSE(journal.exists(1, spool::index_suffix));
    journal.give_up = false;
    CHECK(journal.work_all() == std::vector{KeeperWork::index});
    CHECK(journal.find("r1999@d4.example").first == 3);
}

TEST_CASE("an index of more keys than fit in memory is written in passes") {
    TemporaryDirectory directory;
    const history::IndexHash hash(std::string(history::index_secret_size, 'k'));
    constexpr std::uint64_t blocks = 100;
    const auto path = (directory.path() / "index").string();
    for (const std::size_t most : {std::size_t{50}, std::size_t{1000}, history::IndexBuilder::default_pairs}) {
        auto builder = history::IndexBuilder::create(path, hash, blocks, most);
        REQUIRE(builder);
        int passes = 0;
        for (bool again = true; again; ++passes) {
            for (std::uint64_t block = 0; block < blocks; ++block) {
                std::vector<history::IndexKey> keys = {hash.key_of_id("always")};
                for (std::uint64_t i = 0; i < 30; ++i)
                    keys.push_back(hash.key_of_id(fmt::format("{}", block * 20 + i)));
                builder->add(block, keys);
            }
            const auto more = builder->end_pass();
            REQUIRE(more);
            again = *more;
        }
        REQUIRE(builder->finish());
        CHECK((passes > 1) == (most < 3000));
        const auto index = history::SegmentIndex::open(path, hash, blocks);
        REQUIRE(index);
        CHECK(index->blocks_of({hash.key_of_id("always")}).size() == blocks);
        CHECK(index->blocks_of({hash.key_of_id("never")}).empty());
        for (std::uint64_t n = 30; n < 1900; ++n) {
            const auto found = index->blocks_of({hash.key_of_id(fmt::format("{}", n))});
            CHECK(found == (n % 20 < 10 ? std::vector{n / 20 - 1, n / 20} : std::vector{n / 20}));
        }
        CHECK_FALSE(history::SegmentIndex::open(path, hash, blocks + 1));
        CHECK_FALSE(history::SegmentIndex::open(path, history::IndexHash(std::string(history::index_secret_size, 'x')),
                                                blocks));
    }
}
