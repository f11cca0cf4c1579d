#include "daemons/categorizer/lookup/lookup_sources.h"
#include "daemons/common/lookup/aliases/alias_file.h"
#include "daemons/common/lookup/tables/direct.h"
#include "libsmtp/text/text.h"
#include <algorithm>
#include <fmt/format.h>
#include <unistd.h>

namespace categorizer {

using decide::AliasAnswer;
using decide::Need;
using decide::TableAnswer;

namespace {

TableAnswer answer_of(tables::Answer&& answer) {
    using Said = TableAnswer::Said;
    switch (answer.said) {
    case tables::Answer::Said::none: return {};
    case tables::Answer::Said::found: return {Said::found, std::move(answer.value), ""};
    case tables::Answer::Said::unavailable: return {Said::unreadable, "", std::move(answer.why)};
    case tables::Answer::Said::not_yet: break;
    }
    return {Said::not_yet, "", ""};
}

bool is_place(const decide::AliasTarget& target) {
    using Kind = decide::AliasTarget::Kind;
    return target.kind == Kind::command || target.kind == Kind::file || target.kind == Kind::include;
}

Need need_of(const UserFile& file) {
    return file.path.empty() ? Need{Need::Kind::forward, file.user, file.extension}
                             : Need{Need::Kind::include, file.path, file.user};
}

UserFile file_of(const Need& need) {
    return need.kind == Need::Kind::forward ? UserFile{need.name, "", need.key} : UserFile{need.key, need.name, ""};
}

} // namespace

Sources::Sources(common::Surroundings& surroundings, const std::string& spool, common::Troubles& troubles,
                 std::function<void(const Need&)> known)
    : surroundings_(surroundings), troubles_(troubles), known_(std::move(known)),
      lookups_(surroundings.loop, surroundings.log,
               [this](const std::string& table, const std::string& key) {
                   known_({Need::Kind::table, table, key});
                   if (std::ranges::find(alias_tables_, table) != alias_tables_.end()) known_({Need::Kind::alias, key, {}});
               }),
      aliases_(surroundings.log, spool + "/state/categorizer", troubles.about("aliases")), includes_(surroundings.log),
      users_(surroundings.loop, [this](const std::string& name) { known_({Need::Kind::user, name, {}}); }),
      user_files_(surroundings, [this](const UserFile& file) { known_(need_of(file)); }) {
    tables_.alias = [this](const std::string& name) { return of_alias(name); };
    tables_.user = [this](const std::string& name) { return users_.answer(name); };
    tables_.forward = [this](const std::string& user, const std::string& extension) {
        return of_user({user, "", extension});
    };
    tables_.include = [this](const std::string& path, const std::string& user) {
        return user.empty() ? includes_.find(path, common::Loop::now()) : of_user({user, path, ""});
    };
    tables_.table = [this](const std::string& table, const std::string& key) {
        return answer_of(lookups_.find(table, key));
    };
}

void Sources::configure(const config::Config& config) {
    lookups_.configure(config.tables);
    aliases_.configure(config.local.aliases, config::Local{}.aliases);
    alias_tables_ = config.local.alias_rules.tables;
    alias_services_.clear();
    for (const auto& table : alias_tables_)
        if (tables::is_service(table, config.tables)) alias_services_.push_back(table);
    most_targets_ = config.local.alias_recipients;
    includes_.forget();
    users_.configure(config.local.users, {config.mta.users, config.local.minimum_uid, geteuid()});
    user_files_.configure(config);
    look();
}

AliasAnswer Sources::of_alias(const std::string& name) {
    using Said = AliasAnswer::Said;
    if (auto answer = aliases_.find(name); answer.said != Said::none) return answer;
    for (const auto& table : alias_tables_) {
        auto found = lookups_.find(table, name);
        const auto written = std::move(found.written);
        const auto line = found.line;
        auto answer = answer_of(std::move(found));
        if (answer.said == TableAnswer::Said::not_yet) return {Said::not_yet, {}, "", ""};
        if (answer.said == TableAnswer::Said::unreadable) return {Said::unreadable, {}, std::move(answer.why), ""};
        if (answer.said == TableAnswer::Said::none) continue;
        if (!written.empty()) {
            auto filled_in = common::parse_filled_in(written, answer.value);
            if (filled_in) return {Said::found, *std::move(filled_in), "", ""};
            return {Said::unreadable, {}, fmt::format("{}, line {}: {}", table, line, filled_in.error()), ""};
        }
        auto targets = common::parse_targets(answer.value);
        if (targets.empty())
            return {Said::unreadable, {}, fmt::format("what {} says of {} makes no sense", table, name), ""};
        const bool service = std::ranges::find(alias_services_, table) != alias_services_.end();
        if (service && std::ranges::any_of(targets, is_place))
            return {Said::unreadable, {}, fmt::format("{}: {}: commands, files and included files are not taken from a service",
                                                      table, name), ""};
        return {Said::found, std::move(targets), "", ""};
    }
    return {};
}

AliasAnswer Sources::of_user(const UserFile& file) {
    using Said = AliasAnswer::Said;
    auto answer = user_files_.answer(file);
    switch (answer.said) {
    case UserFileAnswer::Said::none: return {};
    case UserFileAnswer::Said::not_yet: return {Said::not_yet, {}, "", ""};
    case UserFileAnswer::Said::unreadable: return {Said::unreadable, {}, std::move(answer.why), ""};
    case UserFileAnswer::Said::found: break;
    }
    auto list = common::TargetList::parse(answer.text);
    if (list.targets.size() > most_targets_)
        return {Said::unreadable, {}, fmt::format("a file of user {} names more than {} places", file.user, most_targets_), ""};
    for (const auto& problem : list.problems)
        user_files_.warn(fmt::format("{}, line {}: {}; mail for {} goes to the others it names, and waits for this one",
                                     smtp::printable(answer.path, 512), problem.line, problem.message, file.user));
    return {Said::found, std::move(list.targets), "", file.user};
}

void Sources::look() {
    aliases_.look(common::Loop::now());
    lookups_.look();
}

void Sources::fetch(const Need& need) {
    switch (need.kind) {
    case Need::Kind::user: return users_.find(need.name);
    case Need::Kind::table: return lookups_.ask(need.name, need.key);
    case Need::Kind::alias: {
        bool asked = false;
        for (const auto& table : alias_tables_)
            if (lookups_.find(table, need.name).said == tables::Answer::Said::not_yet) {
                lookups_.ask(table, need.name);
                asked = true;
            }
        if (!asked) surroundings_.loop.later([this, need] { known_(need); }); // somebody else's question was quicker
        return;
    }
    case Need::Kind::forward:
    case Need::Kind::include: return user_files_.find(file_of(need));
    default: return; // answered at once, always
    }
}

} // namespace categorizer
