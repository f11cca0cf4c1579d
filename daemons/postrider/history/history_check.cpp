#include "daemons/postrider/history/history_check.h"
#include "daemons/common/config/sections/system/spool.h"
#include "daemons/common/history/books.h"
#include "daemons/common/terminal/exit_status.h"
#include "daemons/common/terminal/load_config.h"
#include "daemons/common/terminal/output.h"
#include "daemons/common/terminal/text.h"
#include "daemons/postrider/history/journal_location.h"
#include "libspool/journal/segments/journal_cursor.h"
#include "libspool/message/message_reader.h"
#include "libspool/store/spooled_messages.h"
#include <cerrno>
#include <chrono>
#include <fmt/format.h>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

namespace postrider {

using nlohmann::json;

namespace {

// Mail moves meanwhile: what does not balance is compared again, up to this many times.
constexpr int looks = 10;
constexpr auto between_looks = std::chrono::milliseconds(300);

class Check {
public:
    Check(const JournalLocation& journal, spool::Disk& spool, history::Books::OtherForm recorded_as)
        : journal_(journal), spool_(spool), cursor_(*journal.disk, JournalLocation::directory, 0),
          books_(std::move(recorded_as)) {}

    spool::Result<> look() {
        TRY(read_journal());
        std::map<spool::QueueId, spool::FileHint> messages;
        const auto listed = spool::list_spooled_messages(spool_);
        spool_failed_ = !listed;
        for (const auto& each : TRY(listed)) messages.insert_or_assign(each.id, each.at);
        queued_ = messages.size();
        for (const auto id : books_.open()) messages.try_emplace(id, spool::Location::messages);
        for (const auto& [id, at] : messages) compare(id, at);
        for (int n = 1; n < looks && !suspects_.empty(); ++n) {
            std::this_thread::sleep_for(between_looks);
            TRY(read_journal());
            for (const auto& [id, suspect] : std::exchange(suspects_, {})) compare(id, suspect.at);
        }
        return {};
    }

    // An error of look() is one of the spool, not of the journal.
    bool spool_failed() const { return spool_failed_; }
    const history::Books& books() const { return books_; }
    std::uint64_t queued() const { return queued_; }
    std::uint64_t damaged() const { return damaged_; }
    std::vector<history::Imbalance> imbalances() const {
        auto found = books_.imbalances();
        for (const auto& [id, suspect] : suspects_)
            if (found.size() < history::Books::most_kept) found.push_back({id.text(), suspect.why});
        return found;
    }
    std::uint64_t imbalances_total() const { return books_.totals().imbalances + suspects_.size(); }

private:
    struct Suspect {
        spool::FileHint at;
        std::string why;
    };

    // All there is, synced or not: what is read here can only explain more.
    spool::Result<> read_journal() {
        const auto visit = [this](const spool::JournalLine& line) {
            const auto event = json::parse(line.text, nullptr, false);
            if (event.is_object())
                books_.add(event);
            else
                ++damaged_;
        };
        const auto damaged = [this](const spool::Damage& damage) {
            ++damaged_;
            print_error(text_of(journal_, damage));
        };
        for (bool more = true; more;)
            more = TRY(cursor_.read(std::numeric_limits<std::uint64_t>::max(), visit, damaged));
        return {};
    }

    void compare(spool::QueueId id, const spool::FileHint& at) {
        auto why = finding(id, at);
        if (!why.empty()) suspects_.try_emplace(id, at, std::move(why));
    }
    // "": it balances.
    std::string finding(spool::QueueId id, const spool::FileHint& at) {
        const auto message = spool::MessageReader::open(spool_, id, at, spool::ReadLock::none);
        if (message) return books_.compare(id, message->state());
        if (const auto* error = std::get_if<spool::Error>(&message.error())) {
            if (error->code != ENOENT && books_.is_open(id))
                return fmt::format("cannot be read in the spool: {}", error->what);
        } else if (std::get<spool::Damaged>(message.error()).how != spool::Damaged::How::unsealed) {
            return {}; // "postrider spool check" names it
        }
        return books_.is_open(id) ? "accepted, and neither finished nor in the spool" : "";
    }

    const JournalLocation& journal_;
    spool::Disk& spool_;
    spool::JournalCursor cursor_;
    history::Books books_;
    std::map<spool::QueueId, Suspect> suspects_;
    std::uint64_t queued_ = 0, damaged_ = 0;
    bool spool_failed_ = false;
};

void print(const Check& check) {
    const auto& totals = check.books().totals();
    const auto found = check.imbalances();
    for (const auto& each : found) fmt::print("{}: {}\n", each.id, each.why);
    if (check.imbalances_total() > found.size()) fmt::print("… and {} more\n", check.imbalances_total() - found.size());
    fmt::print("{} accepted, {} finished, {} removed, {} in the spool", count_text(totals.accepted, "message"),
               totals.finished, totals.removed, check.queued());
    if (totals.older > 0) fmt::print("; {} of them accepted before the journal begins", totals.older);
    fmt::print(": {}\n", check.imbalances_total() == 0
                             ? "all of them are accounted for"
                             : count_text(check.imbalances_total(), "message") + " not accounted for");
    if (check.imbalances_total() > 0 && totals.gaps > 0)
        fmt::print("the journal has {}, which may be the reason: \"postrider history type=journal.gap\"\n",
                   count_text(totals.gaps, "gap"));
    if (check.damaged() > 0)
        fmt::print("{} damaged in the journal: \"postrider journal verify\" shows more\n",
                   count_text(check.damaged(), "place"));
}

void print_as_json(const Check& check) {
    const auto& totals = check.books().totals();
    json imbalances = json::array();
    for (const auto& each : check.imbalances()) imbalances.push_back({{"id", each.id}, {"reason", each.why}});
    print_json({{"version", 1},
                {"accepted", totals.accepted},
                {"finished", totals.finished},
                {"removed", totals.removed},
                {"accepted_before", totals.older},
                {"in_spool", check.queued()},
                {"gaps", totals.gaps},
                {"damaged", check.damaged()},
                {"imbalances_total", check.imbalances_total()},
                {"imbalances", std::move(imbalances)}});
}

} // namespace

int history_check(const Arguments& arguments) {
    int status = ok;
    const auto journal = open_journal(arguments, status);
    if (!journal) return status;
    const auto config = load_effective_config(arguments);
    if (!config) return bad_config;
    auto spool = spool::RealDisk::open_at(config->spool.directory);
    if (!spool) return fail(disk_error, fmt::format("spool {}: {}", config->spool.directory, spool.error().what));
    const auto hash = journal->address_hash();
    if (!hash) return report_journal_error(*journal, hash.error());
    history::Books::OtherForm recorded_as;
    if (*hash) recorded_as = [&hash](std::string_view address) { return (*hash)->of(address); };
    Check check(*journal, **spool, std::move(recorded_as));
    const auto done = check.look();
    if (!done && check.spool_failed())
        return fail(disk_error, fmt::format("spool {}: {}", config->spool.directory, done.error().what));
    if (!done) return report_journal_error(*journal, done.error());
    if (arguments.json)
        print_as_json(check);
    else
        print(check);
    return check.imbalances_total() == 0 && check.damaged() == 0 ? ok : data_error;
}

} // namespace postrider
