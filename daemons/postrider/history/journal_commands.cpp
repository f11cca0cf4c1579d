#include "daemons/postrider/history/journal_commands.h"
#include "daemons/common/history/history_query.h"
#include "daemons/common/terminal/exit_status.h"
#include "daemons/common/terminal/output.h"
#include "daemons/common/terminal/text.h"
#include "daemons/postrider/history/history_rows.h"
#include "daemons/postrider/history/journal_follow.h"
#include "daemons/postrider/history/journal_gaps.h"
#include "daemons/postrider/history/journal_location.h"
#include "libspool/journal/segments/journal_cursor.h"
#include "libspool/journal/segments/segment_size.h"
#include <algorithm>
#include <cstdio>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace postrider {

using nlohmann::json;

namespace {

// The time of the first event of a segment; "" it cannot be read.
std::string first_time(const JournalLocation& journal, const spool::Segment& segment) {
    const auto blocks = spool::open_segment(*journal.disk, JournalLocation::directory, segment);
    if (!blocks) return {};
    const auto block = (*blocks)->read(0);
    if (!block) return {};
    const auto line = spool::parse_line(block->text.substr(0, block->text.find('\n')));
    return line ? std::string(spool::time_of(*line)) : std::string();
}

struct JournalFacts {
    std::uint64_t segments = 0, sealed = 0, unindexed = 0, bytes = 0, first = 0;
    std::uint64_t published = 0;
    std::string since; // time of the first event
};

spool::Result<JournalFacts> facts_of(const JournalLocation& journal) {
    JournalFacts facts;
    const auto segments = TRY(spool::list_segments(*journal.disk, JournalLocation::directory));
    facts.segments = segments.size();
    for (const auto& segment : segments) {
        facts.sealed += segment.sealed;
        facts.unindexed += !segment.indexed;
        facts.bytes += spool::size_of_segment(*journal.disk, segment.first);
    }
    if (!segments.empty()) {
        facts.first = segments.front().first;
        facts.since = first_time(journal, segments.front());
    }
    facts.published = TRY(journal.through(false));
    return facts;
}

// Reads all of it, at most up to `through`.
int read_all(const JournalLocation& journal, std::uint64_t from, std::uint64_t through,
             const std::function<void(const spool::JournalLine&)>& visit,
             const std::function<void(const spool::Damage&)>& damaged) {
    spool::JournalCursor cursor(*journal.disk, JournalLocation::directory, from);
    for (bool more = true; more;) {
        const auto read = cursor.read(through, visit, damaged);
        if (!read) return report_journal_error(journal, read.error());
        more = *read;
    }
    return ok;
}

void print_verified(const JournalLocation& journal, const JournalGaps& gaps, const std::vector<spool::Damage>& damage,
                    std::uint64_t newer) {
    for (const auto& each : damage) fmt::print("{}\n", text_of(journal, each));
    const auto unnamed = gaps.unnamed();
    for (const auto& each : unnamed)
        fmt::print("events {} to {} are missing, and no journal.gap names them\n", each.from, each.to);
    if (newer > 0) fmt::print("{} written by a newer version\n", count_text(static_cast<std::int64_t>(newer), "event"));
    fmt::print("{}, numbers {} to {}: {} damaged, {} of missing numbers, {} of them not named\n",
               count_text(static_cast<std::int64_t>(gaps.events()), "event"), gaps.first(), gaps.last(),
               count_text(static_cast<std::int64_t>(damage.size()), "place"),
               count_text(static_cast<std::int64_t>(gaps.named() + unnamed.size()), "range"), unnamed.size());
}

} // namespace

int journal_status(const Arguments& arguments) {
    int status = ok;
    const auto journal = open_journal(arguments, status);
    if (!journal) return status;
    const auto facts = facts_of(*journal);
    if (!facts) return report_journal_error(*journal, facts.error());
    if (arguments.json) {
        print_json({{"version", 1},
                    {"directory", journal->path},
                    {"first", facts->first},
                    {"published", facts->published},
                    {"since", facts->since},
                    {"segments", facts->segments},
                    {"sealed", facts->sealed},
                    {"unindexed", facts->unindexed},
                    {"bytes", facts->bytes}});
        return ok;
    }
    fmt::print("Journal    {}\n", journal->path);
    if (facts->segments == 0) {
        fmt::print("Events     none\n");
        return ok;
    }
    fmt::print("Events     {} to {}, since {}\n", facts->first, facts->published,
               time_text(event_seconds(facts->since)));
    fmt::print("Segments   {}: {} sealed, {} without an index\n", facts->segments, facts->sealed, facts->unindexed);
    fmt::print("Size       {}\n", size_text(facts->bytes));
    return ok;
}

int journal_verify(const Arguments& arguments) {
    int status = ok;
    const auto journal = open_journal(arguments, status);
    if (!journal) return status;
    const auto through = journal->through(arguments.has("--all"));
    if (!through) return report_journal_error(*journal, through.error());
    JournalGaps gaps;
    std::vector<spool::Damage> damage;
    std::uint64_t newer = 0, objects_damaged = 0;
    status = read_all(
        *journal, 0, *through,
        [&](const spool::JournalLine& line) {
            gaps.add(line.number);
            newer += line.version > spool::journal_version;
            const auto event = json::parse(line.text, nullptr, false);
            if (!event.is_object())
                ++objects_damaged;
            else if (history::string_of(event, "type") == "journal.gap")
                gaps.add_named(event);
        },
        [&](const spool::Damage& found) { damage.push_back(found); });
    if (status != ok) return status;
    const auto unnamed = gaps.unnamed();
    if (arguments.json) {
        json places = json::array(), missing = json::array();
        for (const auto& each : damage)
            places.push_back({{"file", each.file}, {"offset", each.offset}, {"reason", each.why}});
        for (const auto& each : unnamed) missing.push_back({{"from", each.from}, {"to", each.to}});
        print_json({{"version", 1},
                    {"events", gaps.events()},
                    {"first", gaps.first()},
                    {"last", gaps.last()},
                    {"damage", std::move(places)},
                    {"malformed", objects_damaged},
                    {"missing", std::move(missing)}});
    } else {
        print_verified(*journal, gaps, damage, newer);
        if (objects_damaged > 0)
            fmt::print("{} not valid JSON\n", count_text(static_cast<std::int64_t>(objects_damaged), "event"));
    }
    return damage.empty() && unnamed.empty() && objects_damaged == 0 ? ok : data_error;
}

int journal_cat(const Arguments& arguments) {
    std::uint64_t from = 0;
    if (arguments.has("--start-at")) {
        const auto number = arguments.number("--start-at");
        if (!number) return fail(usage, "--start-at needs the number of an event");
        from = *number;
    }
    const bool follow = arguments.has("--follow"), all = arguments.has("--all");
    if (follow && all)
        return fail(usage, "--follow prints only what is on stable storage: it cannot be combined with --all");
    int status = ok;
    const auto journal = open_journal(arguments, status);
    if (!journal) return status;
    const auto print = [](const spool::JournalLine& line) {
        std::fwrite(line.text.data(), 1, line.text.size(), stdout);
        std::fputc('\n', stdout);
    };
    if (follow) return follow_journal(*journal, from, print);
    const auto through = journal->through(all);
    if (!through) return report_journal_error(*journal, through.error());
    bool damaged = false;
    status = read_all(*journal, from, *through, print, [&](const spool::Damage& damage) {
        damaged = true;
        print_error(text_of(*journal, damage));
    });
    return status == ok && damaged ? data_error : status;
}

} // namespace postrider
