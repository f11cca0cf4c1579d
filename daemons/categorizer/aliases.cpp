#include "daemons/categorizer/aliases.h"
#include "daemons/categorizer/includes.h"

namespace categorizer {

Aliases::Aliases(common::Log& log, std::function<void(std::string_view)> trouble)
    : log_(log), trouble_(std::move(trouble)) {}

void Aliases::configure(const std::vector<std::string>& files) {
    std::vector<common::AliasFile> wanted;
    for (const auto& path : files) wanted.emplace_back(path);
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
        if (change == common::AliasFile::Change::gone)
            log_.info("{}: no such file; no aliases from it", file.path());
        if (change == common::AliasFile::Change::failed)
            log_.warning("{}: mail for users of this system waits until it can be read", file.trouble());
    }
    if (!news) return;
    std::string_view worst;
    for (const auto& file : files_)
        if (!file.readable()) worst = file.trouble();
    trouble_(worst);
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
