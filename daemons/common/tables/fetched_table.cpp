#include "daemons/common/tables/fetched_table.h"
#include "libsmtp/text.h"
#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace tables {

using namespace std::chrono_literals;

namespace {

constexpr std::size_t most_waiting = 200'000;
constexpr smtp::Duration left_alone = 1s, left_alone_at_most = 30s, refusal_kept = 2s;

} // namespace

FetchedTable::FetchedTable(common::Log& log, std::string name, smtp::Duration cache, Known known)
    : log_(log), name_(std::move(name)), cache_time_(cache), known_(std::move(known)) {}

Answer FetchedTable::find(std::string_view key, smtp::Now now) {
    if (const auto* known = cache_.find(std::string(key), now.monotonic)) return *known;
    if (!down_.empty() && now.monotonic < down_until_) return Answer::unavailable(trouble());
    if (pending_.size() >= most_waiting && !pending_.contains(key))
        return Answer::unavailable(fmt::format("table {}: too many questions are waiting for it", name_));
    return Answer::not_yet();
}

bool FetchedTable::ask(const std::string& key, smtp::Now now) {
    if (pending_.contains(key)) return true;
    if (find(key, now).said != Answer::Said::not_yet) return false;
    pending_.insert(key);
    waiting_.push_back(key);
    fetch();
    return true;
}

std::string FetchedTable::trouble() const { return down_.empty() ? "" : fmt::format("table {}: {}", name_, down_); }

std::optional<std::string> FetchedTable::next() {
    if (waiting_.empty()) return {};
    auto key = std::move(waiting_.front());
    waiting_.pop_front();
    return key;
}

void FetchedTable::put_back(std::string key) { waiting_.push_front(std::move(key)); }

void FetchedTable::answered(const std::string& key, Answer answer) {
    if (pending_.erase(key) == 0) return;
    const auto odd = [](unsigned char c) { return (c < 0x20 && c != '\t') || c == 0x7f; };
    if (answer.said == Answer::Said::found && answer.value.empty())
        answer = Answer::unavailable("answers with an empty value");
    if (answer.said == Answer::Said::found && std::ranges::any_of(answer.value, odd))
        answer = Answer::unavailable("answers with control characters");
    const bool refused = answer.said == Answer::Said::unavailable;
    if (refused) {
        answer.why = fmt::format("table {}: {}: {}", name_, smtp::printable(key, 100), answer.why);
        log_.warning("{}", answer.why);
    }
    if (!std::exchange(down_, {}).empty()) log_.info("table {}: answers again", name_);
    down_for_ = {};
    cache_.put(key, std::move(answer), common::Loop::now().monotonic + (refused ? refusal_kept : cache_time_));
    known_(key);
}

void FetchedTable::failed(std::string why) {
    const bool news = why != down_;
    down_ = std::move(why);
    down_for_ = std::clamp(down_for_ * 2, left_alone, left_alone_at_most);
    down_until_ = common::Loop::now().monotonic + down_for_;
    if (news) log_.warning("{}; what depends on it waits until it answers", trouble());
    waiting_.clear();
    for (const auto& key : std::exchange(pending_, {})) known_(key);
}

} // namespace tables
