#include "daemons/categorizer/lookup/aliases.h"
#include "daemons/common/lookup/aliases/include_file.h"
#include <algorithm>

namespace categorizer {

Aliases::Aliases(common::Log& log, std::string state, std::function<void(std::string_view)> trouble)
    : log_(log), known_files_(log, std::move(state)), trouble_(std::move(trouble)) {}

void Aliases::configure(const std::vector<std::string>& files, const std::vector<std::string>& by_default) {
    using common::AliasFile;
    by_default_ = by_default;
    known_files_.forget_others(files);
    std::vector<AliasFile> wanted;
    for (const auto& path : files) {
        const bool may_be_missing = is_default(path) && !known_files_.has(path);
        wanted.emplace_back(path, may_be_missing ? AliasFile::IfMissing::empty : AliasFile::IfMissing::unreadable);
    }
    files_ = std::move(wanted);
    next_check_ = {};
}

bool Aliases::is_default(const std::string& path) const {
    return std::ranges::find(by_default_, path) != by_default_.end();
}

void Aliases::refresh(smtp::Now now) {
    if (now.monotonic < next_check_) return;
    next_check_ = now.monotonic + std::chrono::seconds(1);
    bool news = false;
    for (auto& file : files_) {
        const auto change = file.check(now);
        if (change == common::AliasFile::Change::none) continue;
        news = true;
        if (file.if_missing() == common::AliasFile::IfMissing::unreadable && is_default(file.path()))
            known_files_.add(file.path());
        if (change == common::AliasFile::Change::read) {
            log_table(file);
            owners_[file.path()] = common::owner_name(file.owner());
        }
        if (change == common::AliasFile::Change::absent) log_.info("{}: no such file; no aliases from it", file.path());
        if (change == common::AliasFile::Change::failed)
            log_.warning("{}: mail for users of this system waits until {}", file.problem(),
                         file.missing() ? "it exists again, even if empty" : "it can be read");
    }
    if (!news) return;
    std::string all;
    for (const auto& file : files_)
        if (!file.readable()) all += (all.empty() ? "" : "; ") + file.problem();
    trouble_(all);
}

void Aliases::log_table(const common::AliasFile& file) const {
    const auto& table = file.table();
    log_.info("{}: {} aliases", file.path(), table.entries.size());
    for (const auto& problem : table.problems)
        log_.warning("{}, line {}: {}", file.path(), problem.line, problem.message);
}

decide::AliasAnswer Aliases::find(const std::string& name) const {
    using Status = decide::AliasAnswer::Status;
    for (const auto& file : files_) {
        if (!file.readable()) return {Status::unreadable, {}, "alias table " + file.problem(), ""};
        if (const auto* targets = file.find(name)) return {Status::found, *targets, "", owners_.at(file.path())};
    }
    return {};
}

} // namespace categorizer
