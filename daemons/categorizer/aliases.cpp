#include "daemons/categorizer/aliases.h"
#include "daemons/categorizer/includes.h"
#include "daemons/common/config/config.h"
#include <algorithm>

namespace categorizer {

Aliases::Aliases(common::Log& log, std::function<void(std::string_view)> trouble)
    : log_(log), trouble_(std::move(trouble)) {}

void Aliases::configure(const std::vector<std::string>& files) {
    using common::AliasFile;
    const std::vector<std::string> by_default = config::Local{}.aliases; // nobody has named it
    std::vector<AliasFile> wanted;
    for (const auto& path : files) {
        const bool seen = std::ranges::any_of(files_, [&](const AliasFile& old) {
            return old.path() == path && old.if_missing() == AliasFile::IfMissing::unreadable;
        });
        const bool may_be_missing = !seen && std::ranges::find(by_default, path) != by_default.end();
        wanted.emplace_back(path, may_be_missing ? AliasFile::IfMissing::empty : AliasFile::IfMissing::unreadable);
    }
    files_ = std::move(wanted);
    next_look_ = {};
}

void Aliases::look(smtp::Now now) {
    if (now.monotonic < next_look_) return;
    next_look_ = now.monotonic + std::chrono::seconds(1);
    bool news = false;
    for (auto& file : files_) {
        const auto change = file.look(now);
        if (change == common::AliasFile::Change::none) continue;
        news = true;
        if (change == common::AliasFile::Change::read) {
            tell(file);
            owners_[file.path()] = owner_name(file.owner());
        }
        if (change == common::AliasFile::Change::absent)
            log_.info("{}: no such file; no aliases from it", file.path());
        if (change == common::AliasFile::Change::failed)
            log_.warning("{}: mail for users of this system waits until {}", file.trouble(),
                         file.missing() ? "it is there again, if only empty" : "it can be read");
    }
    if (!news) return;
    std::string all;
    for (const auto& file : files_)
        if (!file.readable()) all += (all.empty() ? "" : "; ") + file.trouble();
    trouble_(all);
}

void Aliases::tell(const common::AliasFile& file) const {
    const auto& table = file.table();
    log_.info("{}: {} aliases", file.path(), table.entries.size());
    for (const auto& problem : table.problems)
        log_.warning("{}, line {}: {}", file.path(), problem.line, problem.message);
}

decide::AliasAnswer Aliases::find(const std::string& name) const {
    using Said = decide::AliasAnswer::Said;
    for (const auto& file : files_) {
        if (!file.readable()) return {Said::unreadable, {}, "alias table " + file.trouble(), ""};
        if (const auto* targets = file.find(name)) return {Said::found, *targets, "", owners_.at(file.path())};
    }
    return {};
}

} // namespace categorizer
