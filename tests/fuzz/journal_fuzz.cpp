// A journal segment of any bytes, plain, and sealed with a table of frames of any bytes: whatever is read comes in the
// order of its numbers, and matching and folding what is valid JSON never fails.
#include "daemons/common/history/history_query.h"
#include "daemons/common/history/line_filter.h"
#include "daemons/common/history/message_history.h"
#include "libspool/format/crc32c.h"
#include "libspool/journal/segments/journal_cursor.h"
#include "libspool/journal/segments/segment_sealer.h"
#include "tests/libspool/disk/fake_disk.h"
#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>

namespace {

constexpr auto everything = std::numeric_limits<std::uint64_t>::max();
const std::string plain = "history/00000000000000000001.jsonl", sealed = plain + ".zst",
                  frames = "history/00000000000000000001.frames";

void read(spool::test::FakeDisk& disk, const history::HistoryQuery& query) {
    const history::LineFilter filter(query);
    spool::JournalCursor cursor(disk, "history", 0);
    history::MessageHistory message;
    std::uint64_t last = 0;
    for (bool more = true; more;) {
        const auto result = cursor.read(
            everything - 1,
            [&](const spool::JournalLine& line) {
                if (line.number < last) std::abort();
                last = line.number + 1;
                const auto event = nlohmann::json::parse(line.text, nullptr, false);
                std::string lower;
                history::make_lower(line.text, lower);
                if (query.matches(event) && event.dump() == line.text && !filter.may_match(lower)) std::abort();
                if (event.is_object()) message.add(event);
            },
            [](const spool::Damage&) {});
        if (!result) return;
        more = *result;
    }
    (void)message.outcome_text();
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    const auto end_of_words = std::min(bytes.find('\0'), bytes.size());
    const auto query =
        history::HistoryQuery::parse(std::vector<std::string>{std::string(bytes.substr(0, end_of_words))},
                                     smtp::WallTime(std::chrono::seconds(1'764'172'800)));
    const auto any = history::HistoryQuery::parse(std::vector<std::string>{"a@b.example", "type=message.*"}, {});
    const auto body = bytes.substr(std::min(end_of_words + 1, bytes.size()));

    spool::test::FakeDisk disk;
    if (!disk.make_directory("history", 0700)) std::abort();
    disk.set_contents(plain, std::string(body));
    read(disk, query ? *query : *any);
    auto sealer = spool::SegmentSealer::create(disk, "history", 1);
    if (!sealer) std::abort();
    for (auto more = sealer->step(); more && *more;) more = sealer->step();
    if (!sealer->finish()) std::abort();
    read(disk, *any);
    // Damage in either file.
    const auto half = body.size() / 2;
    disk.set_contents(sealed, std::string(body.substr(0, half)));
    read(disk, *any);
    std::string table = "PRFRAMES" + std::string(body.substr(half));
    const auto checksum = spool::crc32c(table);
    for (std::size_t i = 0; i < 4; ++i) table.push_back(static_cast<char>(checksum >> (8 * i)));
    disk.set_contents(frames, table);
    read(disk, *any);
    return 0;
}
