// Lines before they are written: their numbers, their form, and that what is lost is named, exactly.
#include "libspool/journal/pending_lines.h"
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

using namespace spool::journal;

namespace {

const smtp::WallTime noon{std::chrono::hours(12)};

std::uint64_t add(PendingLines& lines, std::size_t size = 1) {
    return lines.add(EventType::message_accepted, noon, [&](JsonObject& o) { o.text("id", std::string(size, 'x')); });
}

std::vector<nlohmann::json> parsed(const Lines& lines) {
    std::vector<nlohmann::json> out;
    std::istringstream in(lines.bytes);
    for (std::string line; std::getline(in, line);) out.push_back(nlohmann::json::parse(line));
    return out;
}

PendingLines begun(std::uint64_t next = 1) {
    PendingLines lines;
    lines.start("ffffffff-ffff-4fff-bfff-ffffffffffff", next);
    return lines;
}

} // namespace

TEST_CASE("a line has its five first members, in their order") {
    auto lines = begun(88001);
    CHECK(lines.empty());
    CHECK(add(lines) == 88001);
    CHECK_FALSE(lines.empty());
    const auto batch = lines.take(noon);
    CHECK(batch.first == 88001);
    CHECK(batch.last == 88001);
    CHECK(batch.bytes == R"({"v":1,"seq":88001,"node":"ffffffff-ffff-4fff-bfff-ffffffffffff",)"
                         R"("time":"1970-01-01T12:00:00.000000Z","type":"message.accepted","id":"x"})"
                         "\n");
}

TEST_CASE("lines are settled when they are written, not when they are taken") {
    auto lines = begun();
    add(lines);
    CHECK(add(lines) == 2);
    auto batch = lines.take(noon);
    CHECK(add(lines) == 3);
    CHECK(lines.settled() == 0);
    CHECK(lines.count() == 3);
    lines.written(std::move(batch));
    CHECK(lines.settled() == 2);
    CHECK(lines.count() == 1);
    batch = lines.take(noon);
    CHECK(parsed(batch).at(0).at("seq") == 3);
    lines.written(std::move(batch));
    CHECK(lines.empty());
    CHECK(lines.take(noon).empty());
}

TEST_CASE("lost lines are named by a gap as soon as something can be written again") {
    auto lines = begun(101);
    add(lines);
    add(lines);
    auto batch = lines.take(noon);
    add(lines); // 103
    lines.lost(std::move(batch), "disk full");
    CHECK(lines.settled() == 102);
    CHECK_FALSE(lines.empty());
    batch = lines.take(noon); // 103, and the gap, which is lost as well
    lines.lost(std::move(batch), "disk still full");
    batch = lines.take(noon);
    const auto all = parsed(batch);
    REQUIRE(all.size() == 1);
    CHECK(all[0].at("seq") == 105);
    CHECK(all[0].at("type") == "journal.gap");
    CHECK(all[0].at("from") == 101);
    CHECK(all[0].at("to") == 104);
    CHECK(all[0].at("why") == "disk still full");
    lines.written(std::move(batch));
    CHECK(lines.take(noon).empty()); // named once
}

TEST_CASE("what is lost before and after lines that are written is named exactly") {
    auto lines = begun();
    for (std::uint64_t n = 0; n < 3 * PendingLines::most_lines; ++n) add(lines); // three batches
    lines.lost(lines.take(noon), "EIO");
    lines.written(lines.take(noon)); // the gap is named at the end of what waits
    lines.lost(lines.take(noon), "EIO");
    auto batch = lines.take(noon); // what names the first gap was to be the first line of a batch
    const auto all = parsed(batch);
    constexpr auto batch_size = PendingLines::most_lines;
    REQUIRE(all.size() == 1);
    CHECK(all[0].at("seq") == 3 * batch_size + 1);
    CHECK(all[0].at("from") == 1);
    CHECK(all[0].at("to") == batch_size);
    lines.written(std::move(batch));
    batch = lines.take(noon);
    REQUIRE(parsed(batch).size() == 1);
    CHECK(parsed(batch)[0].at("from") == 2 * batch_size + 1);
    CHECK(parsed(batch)[0].at("to") == 3 * batch_size);
    lines.written(std::move(batch));
    CHECK(lines.take(noon).empty());
    CHECK(lines.settled() == 3 * batch_size + 2);
}

TEST_CASE("if the lines that name gaps are lost, others name all of them") {
    auto lines = begun();
    add(lines);
    lines.lost(lines.take(noon), "EIO"); // 1
    add(lines);
    auto second = lines.take(noon); // 2, and 3, which names 1
    add(lines);
    lines.lost(std::move(second), "EIO");
    const auto all = parsed(lines.take(noon)); // 4, and 5
    REQUIRE(all.size() == 2);
    CHECK(all[1].at("from") == 1);
    CHECK(all[1].at("to") == 3);
}

TEST_CASE("what is too much to wait is given up and named; the batch that the writer has is not") {
    auto lines = begun();
    add(lines);
    auto batch = lines.take(noon);
    constexpr auto large = PendingLines::most_bytes / 64;
    for (int n = 0; n < 64; ++n) add(lines, large); // 2 … 65
    CHECK(add(lines) == 66);
    lines.written(std::move(batch));
    CHECK(lines.settled() == 1);
    batch = lines.take(noon);
    const auto all = parsed(batch);
    REQUIRE(all.size() == 2);
    CHECK(all[0].at("seq") == 66);
    CHECK(all[1].at("from") == 2);
    CHECK(all[1].at("to") == 65);
    lines.written(std::move(batch));
    CHECK(lines.settled() == lines.last());
}
