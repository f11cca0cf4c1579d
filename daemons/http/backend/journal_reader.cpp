#include "daemons/http/backend/journal_reader.h"
#include "daemons/common/history/address_hash.h"
#include "daemons/common/history/history_search.h"
#include "libspool/disk/real_disk.h"
#include "libspool/journal/segments/segment_list.h"
#include <algorithm>
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

spool::Result<Opened> open(const std::string& path) {
    Opened out;
    out.disk = TRY(spool::RealDisk::open_at(path));
    if (auto secret = TRY(history::read_address_secret(*out.disk, directory))) out.hash.emplace(*std::move(secret));
    const auto through = TRY(spool::published_number(*out.disk, directory)).value_or(0);
    out.search.emplace(TRY(history::HistorySearch::open(*out.disk, directory, path, through)));
    return out;
}

JournalReader::Answer failed(const spool::Error& error) {
    JournalReader::Answer answer;
    answer.failed = error.what;
    return answer;
}

std::uint64_t damage_in(const history::SearchEffort& effort) { return effort.damage.size() + effort.further_damage; }

// With all their events, in the order of `ids`.
spool::Result<> add_messages(history::HistorySearch& search, const std::vector<std::string>& ids,
                             JournalReader::Answer& answer) {
    if (ids.empty()) return {};
    std::map<std::string, JournalReader::FoundMessage> found;
    std::uint64_t kept = 0;
    TRY(search.events_of(std::set<std::string>(ids.begin(), ids.end()), [&](json event) {
        auto& message = found[history::string_of(event, "id")];
        message.history.add(event);
        if (kept++ < JournalReader::most_events) message.events.push_back(std::move(event));
    }));
    for (const auto& id : ids)
        if (const auto each = found.find(id); each != found.end()) answer.messages.push_back(std::move(each->second));
    return {};
}

JournalReader::Answer find(const std::string& path, const std::vector<std::string>& words, std::uint64_t limit,
                           smtp::WallTime now) {
    JournalReader::Answer answer;
    auto journal = open(path);
    if (!journal) return failed(journal.error());
    const auto query = history::HistoryQuery::parse(words, now, journal->hash ? &*journal->hash : nullptr);
    if (!query) {
        answer.wrong = query.error();
        return answer;
    }
    std::vector<std::string> ids;
    std::set<std::string> known;
    const auto done = journal->search->newest_first(*query, [&](json event) {
        const auto id = history::string_of(event, "id");
        if (!id.empty() && known.contains(id)) return true;
        if (known.size() + answer.events.size() >= limit) {
            answer.more = true;
            return false;
        }
        if (id.empty()) {
            answer.events.push_back(std::move(event));
        } else {
            known.insert(id);
            ids.push_back(id);
        }
        return true;
    });
    if (!done) return failed(done.error());
    if (const auto added = add_messages(*journal->search, ids, answer); !added) return failed(added.error());
    answer.damaged = damage_in(journal->search->effort());
    return answer;
}

JournalReader::Answer read_message(const std::string& path, const std::string& id) {
    JournalReader::Answer answer;
    auto journal = open(path);
    if (!journal) return failed(journal.error());
    if (const auto added = add_messages(*journal->search, {id}, answer); !added) return failed(added.error());
    answer.damaged = damage_in(journal->search->effort());
    return answer;
}

} // namespace

void JournalReader::search(std::vector<std::string> words, std::uint64_t limit, Done done) {
    add({[path = path_, words = std::move(words), limit, now = common::Loop::now().wall] {
             return find(path, words, limit, now);
         },
         std::move(done)});
}

void JournalReader::message(std::string id, Done done) {
    add({[path = path_, id = std::move(id)] { return read_message(path, id); }, std::move(done)});
}

void JournalReader::add(Job job) {
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
        auto worker = std::ranges::find_if(workers_, [](const auto& each) { return !each.busy(); });
        if (worker == workers_.end()) worker = workers_.emplace(workers_.end(), loop_);
        auto job = std::move(waiting_.front());
        waiting_.pop_front();
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
