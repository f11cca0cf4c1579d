#include "daemons/local/delivery/target_check.h"
#include "daemons/common/lookup/aliases/include_file.h"
#include "daemons/common/lookup/tables/single_lookup.h"
#include "daemons/common/runtime/read_file.h"
#include "daemons/common/text/idn.h"
#include "daemons/decide/addressing/command_words.h"
#include "daemons/decide/addressing/mailbox_path.h"
#include "daemons/decide/rewriting/address_keys.h"
#include "libsmtp/message/address.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <tuple>

namespace local {

using Result = TargetCheck::Finding::Result;
using decide::AliasTarget;

namespace {

constexpr int max_includes = 100; // as when recipients are looked up
constexpr std::size_t max_checked_file = 64 << 20;

bool is_command(std::string_view target) { return target.starts_with('|'); }

bool names(const AliasTarget& one, std::string_view target) {
    if (one.kind == AliasTarget::Kind::command) return is_command(target) && target.substr(1) == one.value;
    return one.kind == AliasTarget::Kind::file && target == one.value;
}

} // namespace

void TargetCheck::configure(const config::Local& local, const config::Addresses& addresses,
                            const std::vector<config::LookupTable>& tables,
                            const std::vector<config::MailCommand>& commands) {
    const std::lock_guard lock(mutex_);
    const auto& rules = local.alias_rules;
    const auto by_default = config::Local{}.aliases;
    files_.clear();
    for (const auto& path : local.aliases)
        files_.push_back({path, std::ranges::find(by_default, path) != by_default.end()});
    tables_ = rules.tables;
    sections_ = tables;
    commands_ = commands;
    default_user_ = rules.default_user;
    virtual_pattern_ = addresses.virtual_mailbox.deliver;
    virtual_user_ = addresses.virtual_mailbox.user;
    for (const auto& [what, permitted] : {std::pair{0, &rules.files}, {1, &rules.commands}}) {
        const auto has = [&](const char* from) { return std::ranges::find(*permitted, from) != permitted->end(); };
        from_aliases_[what] = has(config::AliasRules::aliases);
        from_includes_[what] = has(config::AliasRules::includes);
        from_forward_[what] = has(config::AliasRules::forward);
    }
    const auto& delimiter = local.recipient_delimiter;
    delimiter_ = delimiter.empty() ? '\0' : delimiter.front();
}

TargetCheck::Finding TargetCheck::find(std::string_view address, std::string_view user, std::string_view target) {
    const std::lock_guard lock(mutex_);
    const auto parts = decide::AddressParts::of(address);
    if (const auto name = decide::name_of_command(target); !name.empty()) {
        const auto found = std::ranges::find(commands_, name, &config::MailCommand::name);
        return {found != commands_.end() && found->user == user ? Result::named : Result::refused, ""};
    }
    if (decide::is_mailbox_pattern(target)) {
        const bool place = decide::is_mailbox_path(virtual_pattern_, target, idn::folded(parts.name(delimiter_)),
                                                   smtp::lowered(parts.domain));
        return {place && user == virtual_user_ ? Result::named : Result::refused, ""};
    }
    const auto parsed = smtp::Mailbox::parse_bare_allowed(address);
    const auto local_part = parsed ? parsed->local_part : std::string(parts.local);
    const auto name = idn::folded(local_part),
               plain = idn::folded(decide::AddressParts{local_part, {}}.name(delimiter_));
    for (const auto* each : {&name, &plain}) {
        if (auto found = in_aliases(*each, user, target); found.result != Result::refused) return found;
        if (name == plain) break;
    }
    return {from_forward_[is_command(target)] ? Result::elsewhere : Result::refused, ""};
}

void TargetCheck::File::refresh() {
    struct stat now{};
    const auto stamp = [](const struct stat& s) {
        return std::tuple(s.st_dev, s.st_ino, s.st_size, s.st_mtim.tv_sec, s.st_mtim.tv_nsec, s.st_ctim.tv_sec,
                          s.st_ctim.tv_nsec);
    };
    if (::stat(path.c_str(), &now) != 0) {
        trouble = errno == ENOENT && by_default ? "" : std::strerror(errno);
        table = common::AliasTable();
        facts = {};
        return;
    }
    if (table && trouble.empty() && stamp(now) == stamp(facts)) return;
    const auto text = common::read_bounded(path, max_checked_file);
    trouble = text ? "" : std::strerror(text.error());
    table = text ? common::AliasTable::parse(*text) : common::AliasTable();
    facts = now;
}

TargetCheck::Finding TargetCheck::in_aliases(const std::string& name, std::string_view user, std::string_view target) {
    for (auto& file : files_) {
        file.refresh();
        if (!file.trouble.empty())
            return {Result::unreadable, fmt::format("alias table {}: {}", file.path, file.trouble)};
        const auto entry = file.table->entries.find(name);
        if (entry == file.table->entries.end()) continue;
        int includes = 0;
        return among(entry->second, common::owner_name(file.facts.st_uid), false, user, target, includes);
    }
    return in_tables(name, user, target);
}

TargetCheck::Finding TargetCheck::in_tables(const std::string& name, std::string_view user, std::string_view target) {
    for (const auto& table : tables_) {
        if (tables::is_service(table, sections_)) continue; // which may name addresses only
        const auto answer = tables::look_up_once(table, sections_, name);
        if (answer.status == tables::Answer::Status::unavailable) return {Result::unreadable, answer.why};
        if (answer.status == tables::Answer::Status::none) continue;
        auto targets = answer.written.empty()
                           ? common::parse_targets(answer.value)
                           : common::parse_filled_in(answer.written, answer.value).value_or(std::vector<AliasTarget>());
        int includes = 0;
        return among(targets, "", false, user, target, includes);
    }
    return {};
}

// Of one list and those that it includes.
TargetCheck::Finding TargetCheck::among(const std::vector<AliasTarget>& targets, const std::string& run_as,
                                        bool included, std::string_view user, std::string_view target,
                                        int& includes) const {
    const bool allowed = (included ? from_includes_ : from_aliases_)[is_command(target)];
    const bool as_told = user == (run_as.empty() ? default_user_ : run_as);
    for (const auto& one : targets) {
        if (allowed && as_told && names(one, target)) return {Result::named, ""};
        if (one.kind != AliasTarget::Kind::include || ++includes > max_includes) continue;
        const auto file = common::IncludeFile::open(one.value);
        const auto text = file ? file->read() : std::unexpected(file.error());
        if (!text) return {Result::unreadable, fmt::format(":include:{}: {}", one.value, text.error())};
        const auto list = common::TargetList::parse(*text);
        auto found = among(list.targets, common::owner_name(file->facts.st_uid), true, user, target, includes);
        if (found.result != Result::refused) return found;
    }
    return {};
}

} // namespace local
