#include "daemons/categorizer/lookup/includes.h"
#include "daemons/common/lookup/aliases/alias_targets.h"
#include "daemons/common/lookup/aliases/include_file.h"
#include <fmt/format.h>

namespace categorizer {

using decide::AliasAnswer;
using Status = AliasAnswer::Status;

namespace {

constexpr std::size_t max_kept_includes = 500, max_include_warnings = 1000;
constexpr auto include_warning_interval = std::chrono::minutes(10);

} // namespace

AliasAnswer IncludeFiles::refused(const std::string& path, std::string_view why) {
    auto text = fmt::format(":include:{}: {}", path, why);
    if (last_warnings_.size() >= max_include_warnings) last_warnings_.clear();
    auto& told = last_warnings_[text];
    if (told == smtp::Monotonic{} || now_ >= told + include_warning_interval)
        log_.warning("{}; mail for lists that include it waits", text);
    told = now_;
    return {Status::unreadable, {}, std::move(text), ""};
}

AliasAnswer IncludeFiles::find(const std::string& path, smtp::Now now) {
    now_ = now.monotonic;
    const auto file = common::IncludeFile::open(path);
    if (!file) return refused(path, file.error());
    const auto& facts = file->facts;
    const auto ns = [](const timespec& t) { return static_cast<std::int64_t>(t.tv_sec) * 1'000'000'000 + t.tv_nsec; };
    const Stamp stamp{facts.st_dev, facts.st_ino, static_cast<std::uint64_t>(facts.st_size), ns(facts.st_ctim),
                      ns(facts.st_mtim)};
    const auto kept = cache_.find(path);
    if (kept != cache_.end() && kept->second.stamp == stamp) return kept->second.answer;
    // As with alias files: a change that has not rested is not believed yet.
    const auto rested = now.wall.time_since_epoch() - std::chrono::nanoseconds(stamp.modified);
    if (kept != cache_.end() && rested >= smtp::Duration::zero() && rested < std::chrono::seconds(1))
        return kept->second.answer;
    const auto text = file->read();
    if (!text) return refused(path, text.error());
    auto list = common::TargetList::parse(*text);
    for (const auto& problem : list.problems) log_.warning("{}, line {}: {}", path, problem.line, problem.message);
    if (cache_.size() >= max_kept_includes) cache_.clear();
    AliasAnswer answer{Status::found, std::move(list.targets), "", common::owner_name(facts.st_uid)};
    return cache_.insert_or_assign(path, CacheEntry{stamp, std::move(answer)}).first->second.answer;
}

} // namespace categorizer
