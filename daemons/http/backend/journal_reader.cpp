#include "daemons/http/backend/journal_reader.h"
#include "daemons/common/history/address_hash.h"
#include "daemons/common/history/history_search.h"
#include "daemons/common/history/history_summary.h"
#include "libspool/disk/real_disk.h"
#include "libspool/journal/segments/segment_list.h"
#include <algorithm>
#include <cerrno>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <memory>
#include <set>
#include <utility>

namespace http {

using nlohmann::json;

namespace {

constexpr auto directory = "."; // on the disk that is opened there

// What one question needs.
struct Opened {
    std::unique_ptr<spool::RealDisk> disk;
    std::optional<history::AddressHash> hash;
    std::optional<history::HistorySearch> search;
};

spool::Result<Opened> open(const std::string& path, const JournalReader::Cancelled& cancelled) {
    Opened out;
    out.disk = TRY(spool::RealDisk::open_at(path));
    if (auto secret = TRY(history::read_address_secret(*out.disk, directory))) out.hash.emplace(*std::move(secret));
    const auto through = TRY(spool::published_number(*out.disk, directory)).value_or(0);
    out.search.emplace(TRY(history::HistorySearch::open(*out.disk, directory, path, through)));
    out.search->cancel_if([cancelled] { return cancelled->load(std::memory_order_relaxed); });
    return out;
}

JournalReader::Answer failed(const spool::Error& error) {
    JournalReader::Answer answer;
    answer.failed = error.what;
    return answer;
}

std::uint64_t damage_in(const history::SearchEffort& effort) { return effort.damage.size() + effort.further_damage; }

// With all their events, in the order of `ids`; without those of which `is_known` says so of an event.
spool::Result<> add_messages(history::HistorySearch& search, const std::vector<std::string>& ids,
                             const std::function<bool(const json&)>& is_known, JournalReader::Answer& answer) {
    if (ids.empty()) return {};
    std::map<std::string, JournalReader::FoundMessage> found;
    std::set<std::string> known;
    std::uint64_t kept = 0;
    TRY(search.events_of(std::set<std::string>(ids.begin(), ids.end()), [&](json event) {
        const auto id = history::string_of(event, "id");
        auto& message = found[id];
        if (is_known(event)) known.insert(id);
        message.history.add(event);
        if (kept++ < JournalReader::most_events) message.events.push_back(std::move(event));
    }));
    for (const auto& id : ids)
        if (const auto each = found.find(id); each != found.end() && !known.contains(id))
            answer.messages.push_back(std::move(each->second));
    return {};
}

struct Question {
    std::string path;
    std::vector<std::string> words;
    JournalReader::Part part;
    smtp::WallTime now;
    JournalReader::Cancelled cancelled;
};

// Opens the journal, and reads the words of the question.
JournalReader::Answer answer_with(
    const Question& question,
    const std::function<spool::Result<>(history::HistorySearch&, const history::HistoryQuery&, JournalReader::Answer&)>&
        look) {
    JournalReader::Answer answer;
    auto journal = open(question.path, question.cancelled);
    if (!journal) return failed(journal.error());
    const auto query =
        history::HistoryQuery::parse(question.words, question.now, journal->hash ? &*journal->hash : nullptr);
    if (!query) {
        answer.wrong = query.error();
        return answer;
    }
    if (const auto done = look(*journal->search, *query, answer); !done) return failed(done.error());
    answer.damaged = damage_in(journal->search->effort());
    return answer;
}

// What a search has found so far, and where it continues.
struct Candidates {
    std::set<std::string> known;
    std::vector<std::string> ids;
    std::uint64_t from, next = 0;
};

// As many as there is room for.
spool::Result<> collect(history::HistorySearch& search, const history::HistoryQuery& query, std::uint64_t room,
                        Candidates& found, JournalReader::Answer& answer) {
    found.ids.clear();
    found.next = 0;
    return search.newest_first(
        query,
        [&](json event) {
            if (answer.newest == 0) answer.newest = history::number_of(event, "seq");
            const auto id = history::string_of(event, "id");
            if (!id.empty() && found.known.contains(id)) return true;
            if (room == 0) {
                found.next = history::number_of(event, "seq");
                return false;
            }
            --room;
            if (id.empty())
                answer.events.push_back(std::move(event));
            else if (found.known.insert(id).second)
                found.ids.push_back(id);
            return true;
        },
        found.from);
}

// Messages that an earlier answer had are found out when all of their events are read: then others take their places.
spool::Result<> find(history::HistorySearch& search, const history::HistoryQuery& query,
                     const JournalReader::Part& part, JournalReader::Answer& answer) {
    constexpr int most_rounds = 10; // then the answer has fewer than it could
    const auto is_known = [&](const json& event) {
        const auto seq = history::number_of(event, "seq");
        return seq > part.from && seq <= part.newest && query.matches(event);
    };
    answer.newest = part.newest;
    Candidates found{.known = {}, .ids = {}, .from = part.from};
    for (int round = 0; round < most_rounds; ++round) {
        TRY(collect(search, query, part.limit - answer.messages.size() - answer.events.size(), found, answer));
        TRY(add_messages(search, found.ids, is_known, answer));
        answer.next = found.next;
        if (found.next == 0 || answer.messages.size() + answer.events.size() >= part.limit) break;
        found.from = found.next;
    }
    return {};
}

struct Counter {
    history::HistorySummary summary;
    std::vector<std::string> types; // none: all

    void add(const json& event) {
        if (types.empty() || std::ranges::find(types, history::string_of(event, "type")) != types.end())
            summary.add(event);
    }
    json groups(std::uint64_t limit) const {
        json out = json::array();
        for (const auto& [name, counts] : summary.sorted(limit))
            out.push_back(history::HistorySummary::to_json("name", name, counts));
        return {{"by", summary.by()}, {"groups", std::move(out)}, {"groups_total", summary.groups_total()}};
    }
};

std::expected<std::vector<Counter>, std::string> counters_of(const std::vector<JournalReader::Count>& counts) {
    std::vector<Counter> out;
    for (const auto& each : counts) {
        auto summary = history::HistorySummary::parse(each.by);
        if (!summary)
            return std::unexpected(
                fmt::format("by: expected one of {}", fmt::join(history::HistorySummary::groupings, ", ")));
        out.push_back({*std::move(summary), each.types});
    }
    return out;
}

// `is_late`: what is older is left out.
spool::Result<> count(history::HistorySearch& search, const history::HistoryQuery& query, std::vector<Counter> counters,
                      const Question& question, const std::function<bool()>& is_late, JournalReader::Answer& answer) {
    const auto has_gone = [&] { return question.cancelled->load(std::memory_order_relaxed); };
    search.cancel_if([&] { return has_gone() || is_late(); });
    std::string oldest;
    const auto done = search.newest_first(query, [&](const json& event) {
        for (auto& each : counters) each.add(event);
        oldest = history::string_of(event, "time");
        return true;
    });
    if (!done && (done.error().code != ECANCELED || has_gone())) return done;
    answer.complete = done.has_value();
    if (!answer.complete) answer.counted_from = std::move(oldest);
    for (const auto& each : counters) answer.summaries.push_back(each.groups(question.part.limit));
    return {};
}

JournalReader::Answer read_message(const std::string& path, const std::string& id,
                                   const JournalReader::Cancelled& cancelled) {
    JournalReader::Answer answer;
    auto journal = open(path, cancelled);
    if (!journal) return failed(journal.error());
    if (const auto added = add_messages(*journal->search, {id}, [](const json&) { return false; }, answer); !added)
        return failed(added.error());
    answer.damaged = damage_in(journal->search->effort());
    return answer;
}

} // namespace

void JournalReader::search(std::vector<std::string> words, const Part& part, Cancelled cancelled, Done done) {
    Question question{path_, std::move(words), part, common::Loop::now().wall, cancelled};
    add({[question = std::move(question)] {
             return answer_with(question, [&](auto& search, const auto& query, auto& answer) {
                 return find(search, query, question.part, answer);
             });
         },
         std::move(cancelled), std::move(done)});
}

void JournalReader::summarize(std::vector<std::string> words, std::vector<Count> counts, std::uint64_t limit,
                              smtp::Duration within, Cancelled cancelled, Done done) {
    Question question{path_, std::move(words), {.limit = limit}, common::Loop::now().wall, cancelled};
    add({[question = std::move(question), counts = std::move(counts), within] {
             auto counters = counters_of(counts);
             if (!counters) {
                 Answer answer;
                 answer.wrong = counters.error();
                 return answer;
             }
             const auto begin = common::Loop::now().monotonic;
             const auto is_late = [&] {
                 return within > smtp::Duration::zero() && common::Loop::now().monotonic - begin > within;
             };
             return answer_with(question, [&](auto& search, const auto& query, auto& answer) {
                 return count(search, query, *std::move(counters), question, is_late, answer);
             });
         },
         std::move(cancelled), std::move(done)});
}

void JournalReader::message(std::string id, Done done) {
    auto cancelled = std::make_shared<std::atomic<bool>>(false);
    add({[path = path_, id = std::move(id), cancelled] { return read_message(path, id, cancelled); }, cancelled,
         std::move(done)});
}

void JournalReader::add(Job job) {
    std::erase_if(waiting_, [](const Job& each) { return each.cancelled->load(std::memory_order_relaxed); });
    if (waiting_.size() >= most_waiting)
        return loop_.defer([done = std::move(job.done)] {
            Answer answer;
            answer.failed = "too many questions to the journal are being answered";
            done(std::move(answer));
        });
    waiting_.push_back(std::move(job));
    start();
}

void JournalReader::start() {
    while (!waiting_.empty() && running_ < most_at_once) {
        auto job = std::move(waiting_.front());
        waiting_.pop_front();
        if (job.cancelled->load(std::memory_order_relaxed)) continue;
        auto worker = std::ranges::find_if(workers_, [](const auto& each) { return !each.busy(); });
        if (worker == workers_.end()) worker = workers_.emplace(workers_.end(), loop_);
        ++running_;
        const auto answer = std::make_shared<Answer>();
        worker->start([work = std::move(job.work), answer] { *answer = work(); },
                      [this, answer, done = std::move(job.done)] {
                          --running_;
                          done(std::move(*answer));
                          start();
                      });
    }
}

} // namespace http
