#include "daemons/common/lookup/tables/fetched_table.h"
#include "libsmtp/text/text.h"
#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace tables {

using namespace std::chrono_literals;

namespace {

constexpr std::size_t most_waiting = 200'000;
constexpr smtp::Duration first_pause = 1s, longest_pause = 30s, refusal_kept = 2s;
constexpr unsigned most_of_a_domain = 3; // failed keys in a row
constexpr std::size_t most_domains = 10'000;

// Of an address; of a domain, what it has registered or so: its last two labels; "" for other keys. Keys of one domain
// that fail must not stop those of others.
std::string_view domain_of(std::string_view key) {
    if (const auto at = key.rfind('@'); at != key.npos) return key.substr(at + 1);
    const auto last = key.rfind('.');
    if (last == key.npos || last + 1 == key.size() || smtp::is_digit(key.back())) return {};
    const auto before = last == 0 ? key.npos : key.rfind('.', last - 1);
    return before == key.npos ? key : key.substr(before + 1);
}

smtp::Duration longer(smtp::Duration pause) { return std::clamp(pause * 2, first_pause, longest_pause); }

} // namespace

FetchedTable::FetchedTable(common::Log& log, std::string name, smtp::Duration cache, OnAnswer on_answer)
    : log_(log), name_(std::move(name)), cache_time_(cache), on_answer_(std::move(on_answer)) {}

Answer FetchedTable::find(std::string_view key, smtp::Now now) {
    if (const auto* known = cache_.find(std::string(key), now.monotonic)) return *known;
    if (!outage_.empty() && now.monotonic < outage_until_) return Answer::unavailable(problem());
    if (const auto* domain = backing_off(key, now.monotonic))
        return Answer::unavailable(fmt::format("table {}: {}", name_, domain->why));
    if (pending_.size() >= most_waiting && !pending_.contains(key))
        return Answer::unavailable(fmt::format("table {}: too many lookups are waiting for it", name_));
    return Answer::not_yet();
}

bool FetchedTable::ask(const std::string& key, smtp::Now now) {
    if (pending_.contains(key)) return true;
    if (find(key, now).status != Answer::Status::not_yet) return false;
    pending_.insert(key);
    waiting_.push_back(key);
    fetch();
    return true;
}

bool FetchedTable::forget_none(const std::string& key, smtp::Now since) {
    return cache_.drop_none(key, since.monotonic + cache_time_);
}

std::string FetchedTable::problem() const { return outage_.empty() ? "" : fmt::format("table {}: {}", name_, outage_); }

std::optional<std::string> FetchedTable::next() {
    if (waiting_.empty()) return {};
    auto key = std::move(waiting_.front());
    waiting_.pop_front();
    return key;
}

void FetchedTable::put_back(std::string key) { waiting_.push_front(std::move(key)); }

void FetchedTable::ask_first(const std::string& key) {
    if (pending_.insert(key).second) waiting_.push_front(key);
}

const FetchedTable::Domain* FetchedTable::backing_off(std::string_view key, smtp::Monotonic now) const {
    if (domains_.empty()) return nullptr;
    const auto at = domains_.find(domain_of(key));
    return at != domains_.end() && !at->second.why.empty() && now < at->second.until ? &at->second : nullptr;
}

void FetchedTable::key_failed(const std::string& key, std::string why) {
    const std::string name(domain_of(key));
    answered(key, Answer::unavailable(why));
    if (domains_.size() >= most_domains && !domains_.contains(name)) domains_.clear();
    Domain& domain = domains_[name];
    if (++domain.consecutive_failures >= most_of_a_domain) back_off(name, domain, why);
}

// Keys of this domain that are waiting are not queried either.
void FetchedTable::back_off(std::string_view name, Domain& domain, const std::string& why) {
    if (domain.why.empty())
        log_.warning("table {}: keys of {}: {}; mail that depends on them waits until one is answered", name_,
                     name.empty() ? "no domain" : smtp::printable(name, 100), why);
    domain.why = fmt::format("keys of {}: {}", smtp::printable(name, 100), why);
    domain.pause = longer(domain.pause);
    domain.until = common::Loop::now().monotonic + domain.pause;
    std::vector<std::string> concerned;
    std::erase_if(waiting_, [&](const std::string& key) {
        if (domain_of(key) != name) return false;
        concerned.push_back(key);
        return true;
    });
    for (const auto& key : concerned) pending_.erase(key);
    for (const auto& key : concerned) on_answer_(key);
}

void FetchedTable::answered(const std::string& key, Answer answer) {
    if (pending_.erase(key) == 0) return;
    const auto odd = [](unsigned char c) { return (c < 0x20 && c != '\t') || c == 0x7f; };
    if (answer.status == Answer::Status::found && answer.value.empty())
        answer = Answer::unavailable("answers with an empty value");
    if (answer.status == Answer::Status::found && std::ranges::any_of(answer.value, odd))
        answer = Answer::unavailable("answers with control characters");
    const bool refused = answer.status == Answer::Status::unavailable;
    if (refused) {
        answer.why = fmt::format("table {}: {}: {}", name_, smtp::printable(key, 100), answer.why);
        log_.warning("{}", answer.why);
    }
    if (!refused) domains_.erase(std::string(domain_of(key)));
    if (!std::exchange(outage_, {}).empty()) log_.info("table {}: answers again", name_);
    outage_backoff_ = {};
    cache_.put(key, std::move(answer), common::Loop::now().monotonic + (refused ? refusal_kept : cache_time_));
    on_answer_(key);
}

void FetchedTable::failed(std::string why) {
    const bool news = why != outage_;
    outage_ = std::move(why);
    outage_backoff_ = longer(outage_backoff_);
    outage_until_ = common::Loop::now().monotonic + outage_backoff_;
    if (news) log_.warning("{}; mail that depends on it waits until it answers", problem());
    waiting_.clear();
    for (const auto& key : std::exchange(pending_, {})) on_answer_(key);
}

} // namespace tables
