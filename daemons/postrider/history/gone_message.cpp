#include "daemons/postrider/history/gone_message.h"
#include "daemons/common/history/history_search.h"
#include "daemons/common/terminal/exit_status.h"
#include "daemons/common/terminal/output.h"
#include "daemons/postrider/history/history_rows.h"
#include "daemons/postrider/history/journal_location.h"
#include "daemons/postrider/history/kept_content.h"
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace postrider {

namespace {

constexpr std::uint64_t most_explained = 10'000; // kept for the explanation

spool::Result<FoundMessage> find(const JournalLocation& journal, const std::string& id) {
    // What is not on stable storage yet is read too: the message is gone, so this is all there is of it.
    auto search = TRY(history::HistorySearch::open(*journal.disk, JournalLocation::directory, journal.path,
                                                   TRY(journal.through(true))));
    FoundMessage message;
    TRY(search.events_of({id}, [&](nlohmann::json event) {
        message.history.add(event);
        if (message.events.size() < most_explained)
            message.events.push_back(std::move(event));
        else
            ++message.events_left_out;
    }));
    message.content_until = content_kept_until(journal, id);
    return message;
}

} // namespace

int show_gone_message(const Arguments& arguments, const std::string& id, const std::string& refusal, GoneView view) {
    int status = ok;
    const auto journal = open_journal(arguments, status);
    if (!journal) return fail(not_found, refusal);
    const auto found = find(*journal, id);
    if (!found) {
        report_journal_error(*journal, found.error());
        return fail(not_found, refusal);
    }
    if (found->history.events() == 0) return fail(not_found, refusal + ", and the journal has nothing of it");
    if (arguments.json)
        print_json(to_json(*found, view == GoneView::explanation));
    else if (view == GoneView::explanation)
        fmt::print("{}", explanation_text(*found, terminal_width()));
    else
        fmt::print("{}", message_text(*found, terminal_width()));
    return ok;
}

} // namespace postrider
