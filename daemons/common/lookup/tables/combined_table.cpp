#include "daemons/common/lookup/tables/combined_table.h"
#include "daemons/common/lookup/format/specification.h"
#include "daemons/common/runtime/loop.h"
#include <algorithm>
#include <fmt/format.h>

namespace tables {

namespace {

constexpr std::chrono::seconds kept_for_callers{2};
constexpr std::size_t longest_union = 64 << 10; // of several tables together

// A value of one table as the key of the next.
bool is_key(std::string_view value) {
    return !value.empty() && value.size() <= longest_key &&
           std::ranges::none_of(value, [](unsigned char c) { return (c < 0x20 && c != '\t') || c == 0x7f; });
}

} // namespace

CombinedTable::CombinedTable(std::string named, config::LookupKind kind, const std::vector<Make>& parts,
                             OnAnswer on_answer)
    : named_(std::move(named)), kind_(kind), on_answer_(std::move(on_answer)) {
    for (std::size_t i = 0; i < parts.size(); ++i)
        parts_.push_back(parts[i]([this, i](const std::string& key) { part_answered(i, key); }));
}

Answer CombinedTable::merged(std::string_view key, Progress& progress, smtp::Now now, std::vector<Open>& open) {
    for (std::size_t i = 0; i < parts_.size(); ++i) {
        if (progress[i]) continue;
        auto answer = parts_[i]->find(key, now);
        if (answer.status == Answer::Status::unavailable) return answer;
        if (answer.status == Answer::Status::not_yet)
            open.push_back({i, std::string(key)});
        else
            progress[i] = std::move(answer);
    }
    if (!open.empty()) return Answer::not_yet();
    Answer out;
    std::string written; // as a whole, if a part of the key is in one of the values
    for (const auto& each : progress) {
        if (each->status != Answer::Status::found) continue;
        const auto comma = out.status == Answer::Status::found ? "," : "";
        out.status = Answer::Status::found;
        out.value += comma + each->value;
        written += comma + (each->written.empty() ? each->value : each->written);
        if (std::max(out.value.size(), written.size()) > longest_union)
            return Answer::unavailable(
                fmt::format("{}its tables have more than {} bytes for a key", named_, longest_union));
        if (out.written.empty() && !each->written.empty()) out.written = each->written, out.line = each->line;
    }
    if (!out.written.empty()) out.written = std::move(written);
    return out;
}

Answer CombinedTable::chained(std::string_view key, Progress& progress, smtp::Now now, std::vector<Open>& open) {
    std::string current(key);
    for (std::size_t i = 0; i < parts_.size(); ++i) {
        if (!progress[i]) {
            if (!is_key(current)) // what its result would have been is unknown: it may guard
                return i == 0 ? Answer{}
                              : Answer::unavailable(fmt::format(
                                    "{}the value that its table {} has cannot be a key of table {}", named_, i, i + 1));
            auto answer = parts_[i]->find(current, now);
            if (answer.status == Answer::Status::unavailable) return answer;
            if (answer.status == Answer::Status::not_yet) {
                open.push_back({i, std::move(current)});
                return answer;
            }
            progress[i] = std::move(answer);
        }
        if (progress[i]->status != Answer::Status::found) return {};
        current = progress[i]->value;
    }
    return progress.empty() ? Answer{} : *progress.back();
}

Answer CombinedTable::evaluate(std::string_view key, Progress& progress, smtp::Now now, std::vector<Open>& open) {
    progress.resize(parts_.size());
    return kind_ == config::LookupKind::merged ? merged(key, progress, now, open) : chained(key, progress, now, open);
}

Answer CombinedTable::find(std::string_view key, smtp::Now now) {
    if (const auto* known = cache_.find(std::string(key), now.monotonic)) return *known;
    Progress progress;
    std::vector<Open> open;
    return evaluate(key, progress, now, open);
}

bool CombinedTable::ask(const std::string& key, smtp::Now now) {
    if (pending_.contains(key)) return true;
    Progress progress;
    if (auto answer = wait(key, progress, now)) {
        cache_.put(key, *std::move(answer), now.monotonic + kept_for_callers);
        return false;
    }
    pending_.emplace(key, std::move(progress));
    return true;
}

std::optional<Answer> CombinedTable::wait(const std::string& key, Progress& progress, smtp::Now now) {
    for (std::size_t round = 0; round <= parts_.size(); ++round) {
        std::vector<Open> open;
        auto answer = evaluate(key, progress, now, open);
        if (answer.status != Answer::Status::not_yet) return answer;
        bool follows = true; // or some are known by now
        for (auto& each : open) {
            follows = parts_[each.part]->ask(each.key, now) && follows;
            auto& keys = waiting_[std::move(each)];
            if (std::ranges::find(keys, key) == keys.end()) keys.push_back(key);
        }
        if (follows) return std::nullopt;
    }
    return Answer::unavailable(named_ + "one of its tables has no answer");
}

void CombinedTable::part_answered(std::size_t part, const std::string& key) {
    auto waiting = waiting_.extract({part, key});
    if (waiting.empty()) return;
    const auto now = common::Loop::now();
    for (const auto& each : waiting.mapped()) {
        const auto found = pending_.find(each);
        if (found == pending_.end()) continue;
        auto answer = wait(each, found->second, now);
        if (!answer) continue;
        cache_.put(each, *std::move(answer), now.monotonic + kept_for_callers);
        pending_.erase(found);
        on_answer_(each);
    }
}

bool CombinedTable::forget_none(const std::string& key, smtp::Now since) {
    bool part_forgot = false;
    auto current = key;
    for (const auto& part : parts_) {
        part_forgot = part->forget_none(current, since) || part_forgot;
        if (kind_ == config::LookupKind::merged) continue;
        auto answer = part->find(current, common::Loop::now());
        if (answer.status != Answer::Status::found) break;
        current = std::move(answer.value);
    }
    // Its own answer is as old as what it was made of.
    const auto then = part_forgot ? smtp::Monotonic::max() : since.monotonic + kept_for_callers;
    return cache_.drop_none(key, then) || part_forgot;
}

void CombinedTable::refresh(smtp::Now now) {
    for (const auto& part : parts_) part->refresh(now);
}

std::string CombinedTable::problem() const {
    std::string out;
    for (const auto& part : parts_)
        if (const auto problem = part->problem(); !problem.empty()) out += (out.empty() ? "" : "; ") + problem;
    return out;
}

std::vector<Problem> CombinedTable::problems() const {
    std::vector<Problem> out;
    for (const auto& part : parts_)
        for (auto& problem : part->problems()) out.push_back({0, std::move(problem.message)});
    return out;
}

} // namespace tables
