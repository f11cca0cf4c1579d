#include "daemons/categorizer/aliases.h"
#include "libsmtp/text.h"

namespace categorizer {

namespace {

constexpr std::size_t most_told = 20; // lines about one file

std::string_view not_supported(decide::AliasTarget::Kind kind) {
    switch (kind) {
    case decide::AliasTarget::Kind::command: return "delivery to a command";
    case decide::AliasTarget::Kind::file: return "delivery to a file";
    case decide::AliasTarget::Kind::include: return ":include:";
    default: return "";
    }
}

} // namespace

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
        if (change == common::AliasFile::Change::read) tell(file);
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
    std::size_t told = 0;
    for (const auto& [name, targets] : table.entries)
        for (const auto& target : targets)
            if (const auto what = not_supported(target.kind); !what.empty() && told++ < most_told)
                log_.warning("{}: alias {}: {} is not supported; mail for it is deferred", file.path(),
                             smtp::printable(name, 64), what);
}

decide::AliasAnswer Aliases::find(const std::string& name) const {
    using Said = decide::AliasAnswer::Said;
    for (const auto& file : files_) {
        if (!file.readable()) return {Said::unreadable, {}, "alias table " + file.trouble()};
        if (const auto* targets = file.find(name)) return {Said::found, *targets, ""};
    }
    return {};
}

} // namespace categorizer
