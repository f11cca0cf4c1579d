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

using JournalPause = std::function<bool()>;
using JournalAnswer = JournalReader::Answer;

// What a question keeps while it is interrupted: the journal, and the words as they were read.
class JournalInquiry {
public:
    explicit JournalInquiry(Question question) : question_(std::move(question)) {}
    const Question& question() const { return question_; }

    // `look(search, query)` gives false if it was interrupted, as this does then.
    bool answer(JournalAnswer& answer, const auto& look) {
        if (!query_ && !begin(answer)) return true;
        const spool::Result<bool> done = look(*journal_->search, *query_);
        if (!done) {
            answer = failed(done.error());
            return true;
        }
        answer.damaged = damage_in(journal_->search->effort());
        return *done;
    }

private:
    bool begin(JournalAnswer& answer) {
        auto journal = open(question_.path, question_.cancelled);
        if (!journal) {
            answer = failed(journal.error());
            return false;
        }
        journal_.emplace(*std::move(journal));
        auto query =
            history::HistoryQuery::parse(question_.words, question_.now, journal_->hash ? &*journal_->hash : nullptr);
        if (!query) {
            answer.wrong = query.error();
            return false;
        }
        query_.emplace(*std::move(query));
        return true;
    }

    const Question question_;
    std::optional<Opened> journal_;
    std::optional<history::HistoryQuery> query_;
};

// A search: some messages in each round, until there are enough.
class JournalFinder {
public:
    explicit JournalFinder(Question question) : inquiry_(std::move(question)) {}

    bool work(const JournalPause& pause, JournalAnswer& answer) {
        return inquiry_.answer(answer,
                               [&](auto& search, const auto& query) { return find(search, query, pause, answer); });
    }

private:
    // Messages that an earlier answer had are found out when all of their events are read: then others take their
    // places.
    spool::Result<bool> find(history::HistorySearch& search, const history::HistoryQuery& query,
                             const JournalPause& pause, JournalAnswer& answer) {
        constexpr int most_rounds = 10; // then the answer has fewer than it could
        const auto& part = inquiry_.question().part;
        const auto is_known = [&](const json& event) {
            const auto seq = history::number_of(event, "seq");
            return seq > part.from && seq <= part.newest && query.matches(event);
        };
        const auto missing = [&] { return part.limit - answer.messages.size() - answer.events.size(); };
        if (rounds_ == 0) begin_round(part.from, missing());
        if (answer.newest == 0) answer.newest = part.newest;
        while (true) {
            if (!TRY(collect(search, query, pause, answer))) return false;
            TRY(add_messages(search, ids_, is_known, answer));
            answer.next = next_;
            if (next_ == 0 || missing() == 0 || rounds_ == most_rounds) return true;
            begin_round(next_, missing());
        }
    }

    void begin_round(std::uint64_t from, std::uint64_t room) {
        ++rounds_;
        ids_.clear();
        next_ = 0;
        walk_ = {.from = from};
        room_ = room;
    }

    // As many as there is room for. False: interrupted.
    spool::Result<bool> collect(history::HistorySearch& search, const history::HistoryQuery& query,
                                const JournalPause& pause, JournalAnswer& answer) {
        return search.go_on(
            walk_, query,
            [&](json event) {
                if (answer.newest == 0) answer.newest = history::number_of(event, "seq");
                const auto id = history::string_of(event, "id");
                if (!id.empty() && known_.contains(id)) return true;
                if (room_ == 0) {
                    next_ = history::number_of(event, "seq");
                    return false;
                }
                --room_;
                if (id.empty())
                    answer.events.push_back(std::move(event));
                else if (known_.insert(id).second)
                    ids_.push_back(id);
                return true;
            },
            pause);
    }

    JournalInquiry inquiry_;
    int rounds_ = 0;
    // Of all rounds; of this one.
    std::set<std::string> known_;
    std::vector<std::string> ids_;
    history::HistorySearch::Walk walk_;
    std::uint64_t next_ = 0, room_ = 0;
};

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

// Counts, until it is too late: then what is older is left out.
class JournalCounting {
public:
    JournalCounting(Question question, std::vector<JournalReader::Count> counts, smtp::Duration within)
        : inquiry_(std::move(question)), counts_(std::move(counts)), within_(within) {}

    bool work(const JournalPause& pause, JournalAnswer& answer) {
        if (counters_.empty() && !make_counters(answer)) return true;
        return inquiry_.answer(answer,
                               [&](auto& search, const auto& query) { return count(search, query, pause, answer); });
    }

private:
    bool make_counters(JournalAnswer& answer) {
        for (const auto& each : counts_) {
            auto summary = history::HistorySummary::parse(each.by);
            if (!summary) {
                answer.wrong =
                    fmt::format("by: expected one of {}", fmt::join(history::HistorySummary::groupings, ", "));
                return false;
            }
            counters_.push_back({*std::move(summary), each.types});
        }
        return true;
    }

    bool is_late() const {
        return within_ > smtp::Duration::zero() && common::Loop::now().monotonic - begin_ > within_;
    }

    spool::Result<bool> count(history::HistorySearch& search, const history::HistoryQuery& query,
                              const JournalPause& pause, JournalAnswer& answer) {
        const auto has_gone = [this] { return inquiry_.question().cancelled->load(std::memory_order_relaxed); };
        search.cancel_if([this, has_gone] { return has_gone() || is_late(); });
        const auto done = search.go_on(
            walk_, query,
            [&](const json& event) {
                for (auto& each : counters_) each.add(event);
                oldest_ = history::string_of(event, "time");
                return true;
            },
            pause);
        if (done && !*done) return false;
        if (!done && (done.error().code != ECANCELED || has_gone())) return done;
        answer.complete = done.has_value();
        if (!answer.complete) answer.counted_from = oldest_;
        for (const auto& each : counters_) answer.summaries.push_back(each.groups(inquiry_.question().part.limit));
        return true;
    }

    JournalInquiry inquiry_;
    const std::vector<JournalReader::Count> counts_;
    const smtp::Duration within_;
    const smtp::Monotonic begin_ = common::Loop::now().monotonic;
    std::vector<Counter> counters_;
    history::HistorySearch::Walk walk_;
    std::string oldest_;
};

JournalAnswer read_message(const std::string& path, const std::string& id, const JournalReader::Cancelled& cancelled) {
    JournalAnswer answer;
    auto journal = open(path, cancelled);
    if (!journal) return failed(journal.error());
    if (const auto added = add_messages(*journal->search, {id}, [](const json&) { return false; }, answer); !added)
        return failed(added.error());
    answer.damaged = damage_in(journal->search->effort());
    return answer;
}

} // namespace

void JournalReader::search(std::vector<std::string> words, const Part& part, Cancelled cancelled, Done done) {
    const auto finder =
        std::make_shared<JournalFinder>(Question{path_, std::move(words), part, common::Loop::now().wall, cancelled});
    add({.work = [finder](const Pause& pause, Answer& answer) { return finder->work(pause, answer); },
         .cancelled = std::move(cancelled),
         .done = std::move(done)});
}

void JournalReader::summarize(std::vector<std::string> words, std::vector<Count> counts, std::uint64_t limit,
                              smtp::Duration within, Cancelled cancelled, Done done) {
    Question question{path_, std::move(words), {.limit = limit}, common::Loop::now().wall, cancelled};
    const auto counting = std::make_shared<JournalCounting>(std::move(question), std::move(counts), within);
    add({.work = [counting](const Pause& pause, Answer& answer) { return counting->work(pause, answer); },
         .cancelled = std::move(cancelled),
         .done = std::move(done)});
}

void JournalReader::message(std::string id, Done done) {
    auto cancelled = std::make_shared<std::atomic<bool>>(false);
    add({.work =
             [path = path_, id = std::move(id), cancelled](const Pause&, Answer& answer) {
                 answer = read_message(path, id, cancelled);
                 return true;
             },
         .cancelled = cancelled,
         .done = std::move(done)});
}

void JournalReader::add(Job job) {
    const auto has_gone = [](const Job& each) { return each.cancelled->load(std::memory_order_relaxed); };
    std::erase_if(fresh_, has_gone);
    std::erase_if(interrupted_, has_gone);
    if (waiting() >= most_waiting)
        return loop_.defer([done = std::move(job.done)] {
            Answer answer;
            answer.failed = "too many questions to the journal are being answered";
            done(std::move(answer));
        });
    fresh_.push_back(std::move(job));
    start();
}

JournalReader::Job JournalReader::take() {
    auto& next = interrupted_.empty() || (fresh_is_next_ && !fresh_.empty()) ? fresh_ : interrupted_;
    fresh_is_next_ = &next == &interrupted_;
    auto job = std::move(next.front());
    next.pop_front();
    return job;
}

void JournalReader::start() {
    while (waiting() > 0 && running_ < most_at_once) {
        auto job = std::make_shared<Job>(take());
        if (job->cancelled->load(std::memory_order_relaxed)) continue;
        auto worker = std::ranges::find_if(workers_, [](const auto& each) { return !each.busy(); });
        if (worker == workers_.end()) worker = workers_.emplace(workers_.end(), loop_);
        ++running_;
        const auto complete = std::make_shared<bool>(false);
        const auto others_wait = others_wait_;
        worker->start(
            [job, complete, others_wait, slice = slice_] {
                const auto begin = common::Loop::now().monotonic;
                const auto pause = [&] {
                    return others_wait->load(std::memory_order_relaxed) &&
                           common::Loop::now().monotonic - begin >= slice;
                };
                *complete = job->work(pause, *job->answer);
            },
            [this, job, complete] { worked(std::move(*job), *complete); });
    }
    others_wait_->store(waiting() > 0, std::memory_order_relaxed);
}

void JournalReader::worked(Job job, bool complete) {
    --running_;
    if (complete)
        job.done(std::move(*job.answer));
    else
        interrupted_.push_back(std::move(job));
    start();
}

} // namespace http
