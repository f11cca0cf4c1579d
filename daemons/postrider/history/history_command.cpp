#include "daemons/postrider/history/history_command.h"
#include "daemons/common/history/history_search.h"
#include "daemons/common/history/history_summary.h"
#include "daemons/common/terminal/exit_status.h"
#include "daemons/common/terminal/output.h"
#include "daemons/postrider/history/history_check.h"
#include "daemons/postrider/history/history_rows.h"
#include "daemons/postrider/history/journal_follow.h"
#include "daemons/postrider/history/journal_location.h"
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <nlohmann/json.hpp>

namespace postrider {

using nlohmann::json;

namespace {

constexpr std::uint64_t default_limit = 100, largest_limit = 100'000;
constexpr std::uint64_t most_events = 500'000; // kept for all messages of one answer

// What is not complete about an answer, below it.
void print_effort(const JournalLocation& journal, const history::SearchEffort& effort) {
    for (const auto& damage : effort.damage) print_error(text_of(journal, damage));
    if (effort.further_damage > 0) print_error(fmt::format("… and {} more damaged places", effort.further_damage));
    if (effort.unindexed > 0)
        print_error(fmt::format("{} of {} segments of the journal have no index yet and were read through",
                                effort.unindexed, effort.segments));
    if (!effort.damage.empty()) print_error("\"postrider journal verify\" shows which numbers are missing");
}

class Answer {
public:
    Answer(const JournalLocation& journal, history::HistorySearch& search, std::uint64_t limit)
        : journal_(journal), search_(search), limit_(limit) {}

    // The newest messages that have a matching event, and matching events that belong to no message.
    spool::Result<> find(const history::HistoryQuery& query) {
        TRY(search_.newest_first(query, [&](json event) {
            const auto id = history::string_of(event, "id");
            if (id.empty())
                order_.push_back({"", std::move(event)});
            else if (messages_.try_emplace(id).second)
                order_.push_back({id, {}});
            if (order_.size() <= limit_) return true;
            if (!order_.back().id.empty()) messages_.erase(order_.back().id);
            order_.pop_back();
            more_ = true;
            return false;
        }));
        std::set<std::string> ids;
        for (const auto& [id, message] : messages_) ids.insert(id);
        if (ids.empty()) return {};
        std::uint64_t kept = 0;
        return search_.events_of(ids, [&](json event) {
            auto& message = messages_.at(history::string_of(event, "id"));
            message.history.add(event);
            if (kept++ < most_events)
                message.events.push_back(std::move(event));
            else
                ++message.events_left_out;
        });
    }

    void print(const Arguments& arguments) const {
        const auto width = terminal_width();
        const bool attempts = arguments.has("--attempts"), events = arguments.has("--events");
        auto table = message_table();
        for (const auto& entry : order_) {
            const auto* message = entry.id.empty() ? nullptr : &messages_.at(entry.id);
            if (arguments.json)
                print_json(message == nullptr ? entry.event : to_json(*message, attempts || events));
            else if (message == nullptr && (attempts || events))
                fmt::print("{}\n", event_line(entry.event));
            else if (message == nullptr)
                add_event(table, entry.event);
            else if (attempts || events)
                fmt::print("{}", attempts ? attempts_text(*message, width) : events_text(*message, width));
            else
                add_message(table, message->history);
        }
        if (!table.empty()) fmt::print("{}", table.text(width));
        if (more_) print_error(fmt::format("only the newest {} are shown; --limit shows more", limit_));
        print_effort(journal_, search_.effort());
    }
    bool empty() const { return order_.empty(); }

private:
    struct Entry {
        std::string id; // "": an event that belongs to no message
        json event;
    };
    const JournalLocation& journal_;
    history::HistorySearch& search_;
    std::uint64_t limit_;
    std::vector<Entry> order_;
    std::map<std::string, FoundMessage> messages_;
    bool more_ = false;
};

int nothing_found(const Arguments& arguments, const JournalLocation& journal, const history::HistorySearch& search) {
    if (!arguments.json) fmt::print("nothing in the journal matches\n");
    print_effort(journal, search.effort());
    return not_found;
}

int summarize(const Arguments& arguments, const JournalLocation& journal, history::HistorySearch& search,
              const history::HistoryQuery& query, std::uint64_t limit) {
    const auto asked = *arguments.option("--summary");
    constexpr std::string_view prefix = "by=";
    const std::string_view by = asked;
    auto summary = history::HistorySummary::parse(by.starts_with(prefix) ? by.substr(prefix.size()) : by);
    if (!summary)
        return fail(usage, fmt::format("--summary {}: expected by={}", asked,
                                       fmt::join(history::HistorySummary::groupings, ", by=")));
    const auto done = search.newest_first(query, [&](const json& event) {
        summary->add(event);
        return true;
    });
    if (!done) return report_journal_error(journal, done.error());
    if (summary->empty()) return nothing_found(arguments, journal, search);
    if (arguments.json)
        print_json(summary->to_json(limit));
    else
        fmt::print("{}", summary_text(*summary, limit, terminal_width()));
    print_effort(journal, search.effort());
    return ok;
}

} // namespace

int history_command(const Arguments& arguments) {
    if (arguments.has("--check")) {
        const bool alone = arguments.words.empty() && arguments.options.size() == 1;
        return alone ? history_check(arguments)
                     : fail(usage, "--check covers all mail: it takes no words and no other option but --json");
    }
    const auto now = std::chrono::floor<smtp::Duration>(std::chrono::system_clock::now());
    auto query = history::HistoryQuery::parse(arguments.words, now);
    if (!query) return fail(usage, query.error());
    auto limit = default_limit;
    if (arguments.has("--limit")) {
        const auto number = arguments.number("--limit");
        if (!number || *number == 0 || *number > largest_limit)
            return fail(usage, fmt::format("--limit needs a number from 1 to {}", largest_limit));
        limit = *number;
    }
    const bool follow = arguments.has("--follow");
    if (follow && (arguments.has("--summary") || arguments.has("--attempts") || arguments.has("--all")))
        return fail(usage, "--follow prints events as they come to stable storage: it cannot be combined with "
                           "--summary, --attempts or --all");
    if (!follow && query->selects_all() && !arguments.has("--summary"))
        return fail(usage, "what is to be found: an address, a queue id, a Message-ID, or words such as since=1h");
    int status = ok;
    const auto journal = open_journal(arguments, status);
    if (!journal) return status;
    const auto hash = journal->address_hash();
    if (!hash) return report_journal_error(*journal, hash.error());
    if (*hash) query = history::HistoryQuery::parse(arguments.words, now, &**hash);
    const auto through = journal->through(arguments.has("--all"));
    if (!through) return report_journal_error(*journal, through.error());
    if (follow)
        return follow_journal(*journal, *through + 1, [&](const spool::JournalLine& line) {
            auto event = json::parse(line.text, nullptr, false);
            if (!query->matches(event)) return;
            if (arguments.json)
                print_json(event);
            else
                fmt::print("{}\n", event_line(event));
        });
    auto search = history::HistorySearch::open(*journal->disk, JournalLocation::directory, journal->path, *through);
    if (!search) return report_journal_error(*journal, search.error());
    if (arguments.has("--summary")) return summarize(arguments, *journal, *search, *query, limit);
    Answer answer(*journal, *search, limit);
    if (const auto found = answer.find(*query); !found) return report_journal_error(*journal, found.error());
    if (answer.empty()) return nothing_found(arguments, *journal, *search);
    answer.print(arguments);
    return ok;
}

} // namespace postrider
