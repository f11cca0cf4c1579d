#include "daemons/categorizer/lookup/lookup_sources.h"
#include "daemons/common/config/sections/system/mta.h"
#include "daemons/common/lookup/aliases/alias_file.h"
#include "daemons/common/lookup/tables/single_lookup.h"
#include "daemons/common/rewriting/table_answer.h"
#include "libsmtp/text/text.h"
#include <algorithm>
#include <fmt/format.h>
#include <unistd.h>

namespace categorizer {

using decide::AliasAnswer;
using decide::LookupRequest;
using decide::TableAnswer;

namespace {

bool is_delivery_target(const decide::AliasTarget& target) {
    using Kind = decide::AliasTarget::Kind;
    return target.kind == Kind::command || target.kind == Kind::file || target.kind == Kind::include;
}

LookupRequest need_of(const UserFile& file) {
    return file.path.empty() ? LookupRequest{LookupRequest::Kind::forward, file.user, file.extension}
                             : LookupRequest{LookupRequest::Kind::include, file.path, file.user};
}

UserFile file_of(const LookupRequest& need) {
    return need.kind == LookupRequest::Kind::forward ? UserFile{need.name, "", need.key}
                                                     : UserFile{need.key, need.name, ""};
}

} // namespace

LookupSources::LookupSources(common::DaemonContext& context, const std::string& spool, common::Problems& problems,
                             std::function<void(const LookupRequest&)> known)
    : context_(context), spool_(spool), problems_(problems), known_(std::move(known)),
      lookups_(context.loop, context.log,
               [this](const std::string& table, const std::string& key) {
                   known_({LookupRequest::Kind::table, table, key});
                   if (std::ranges::find(alias_tables_, table) != alias_tables_.end())
                       known_({LookupRequest::Kind::alias, key, {}});
               }),
      aliases_(context.log, spool + "/state/categorizer", problems.reporter("aliases")), includes_(context.log),
      users_(context.loop, [this](const std::string& name) { known_({LookupRequest::Kind::user, name, {}}); }),
      user_files_(context, [this](const UserFile& file) { known_(need_of(file)); }) {
    tables_.alias = [this](const std::string& name) { return find_alias(name); };
    tables_.user = [this](const std::string& name) { return users_.answer(name); };
    tables_.forward = [this](const std::string& user, const std::string& extension) {
        return find_user_file({user, "", extension});
    };
    tables_.include = [this](const std::string& path, const std::string& user) {
        return user.empty() ? includes_.find(path, common::Loop::now()) : find_user_file({user, path, ""});
    };
    tables_.table = [this](const std::string& table, const std::string& key) {
        return common::table_answer(lookups_.find(table, key));
    };
}

decide::ExpansionTables LookupSources::fresh(decide::ExpansionTables tables, smtp::Now since) {
    tables.table = [this, since, known = std::move(tables.table)](const std::string& table, const std::string& key) {
        auto answer = known(table, key);
        if (answer.status == TableAnswer::Status::none && lookups_.forget_none(table, key, since))
            answer = known(table, key);
        return answer;
    };
    tables.alias = [this, since, known = std::move(tables.alias)](const std::string& name) {
        auto answer = known(name);
        bool forgotten = false;
        if (answer.status == AliasAnswer::Status::none)
            for (const auto& table : alias_tables_) forgotten = lookups_.forget_none(table, name, since) || forgotten;
        return forgotten ? known(name) : answer;
    };
    return tables;
}

void LookupSources::configure(const config::Local& local, const config::Mta& mta,
                              const std::vector<config::LookupTable>& tables) {
    lookups_.configure(tables, tables::maps_socket(spool_));
    aliases_.configure(local.aliases, config::Local{}.aliases);
    alias_tables_ = local.alias_rules.tables;
    alias_services_.clear();
    for (const auto& table : alias_tables_)
        if (tables::is_service(table, tables)) alias_services_.push_back(table);
    max_targets_ = local.alias_recipients;
    includes_.forget();
    users_.configure(local.users, {mta.users, local.minimum_uid, geteuid()});
    user_files_.configure(local);
    refresh();
}

AliasAnswer LookupSources::find_alias(const std::string& name) {
    using Status = AliasAnswer::Status;
    if (auto answer = aliases_.find(name); answer.status != Status::none) return answer;
    for (const auto& table : alias_tables_) {
        auto found = lookups_.find(table, name);
        const auto written = std::move(found.written);
        const auto line = found.line;
        auto answer = common::table_answer(std::move(found));
        if (answer.status == TableAnswer::Status::not_yet) return {Status::not_yet, {}, "", ""};
        if (answer.status == TableAnswer::Status::unreadable)
            return {Status::unreadable, {}, std::move(answer.why), ""};
        if (answer.status == TableAnswer::Status::none) continue;
        if (!written.empty()) {
            auto filled_in = common::parse_filled_in(written, answer.value);
            if (filled_in) return {Status::found, *std::move(filled_in), "", ""};
            return {Status::unreadable, {}, fmt::format("{}, line {}: {}", table, line, filled_in.error()), ""};
        }
        auto targets = common::parse_targets(answer.value);
        if (targets.empty())
            return {Status::unreadable, {}, fmt::format("the value in {} for {} is invalid", table, name), ""};
        const bool service = std::ranges::find(alias_services_, table) != alias_services_.end();
        if (service && std::ranges::any_of(targets, is_delivery_target))
            return {
                Status::unreadable,
                {},
                fmt::format("{}: {}: commands, files and included files are not accepted from a service", table, name),
                ""};
        return {Status::found, std::move(targets), "", ""};
    }
    return {};
}

AliasAnswer LookupSources::find_user_file(const UserFile& file) {
    using Status = AliasAnswer::Status;
    auto answer = user_files_.answer(file);
    switch (answer.said) {
    case UserFileAnswer::Said::none: return {};
    case UserFileAnswer::Said::not_yet: return {Status::not_yet, {}, "", ""};
    case UserFileAnswer::Said::unreadable: return {Status::unreadable, {}, std::move(answer.why), ""};
    case UserFileAnswer::Said::found: break;
    }
    auto list = common::TargetList::parse(answer.text);
    if (list.targets.size() > max_targets_)
        return {Status::unreadable,
                {},
                fmt::format("a file of user {} lists more than {} targets", file.user, max_targets_),
                ""};
    for (const auto& problem : list.problems)
        user_files_.warn(fmt::format("{}, line {}: {}; mail for {} is delivered to the other targets, and "
                                     "waits for this one",
                                     smtp::printable(answer.path, 512), problem.line, problem.message, file.user));
    return {Status::found, std::move(list.targets), "", file.user};
}

void LookupSources::refresh() {
    aliases_.refresh(common::Loop::now());
    lookups_.refresh();
}

void LookupSources::fetch(const LookupRequest& need) {
    switch (need.kind) {
    case LookupRequest::Kind::user: return users_.find(need.name);
    case LookupRequest::Kind::table: return lookups_.ask(need.name, need.key);
    case LookupRequest::Kind::alias: {
        bool asked = false;
        for (const auto& table : alias_tables_)
            if (lookups_.find(table, need.name).status == tables::Answer::Status::not_yet) {
                lookups_.ask(table, need.name);
                asked = true;
            }
        if (!asked) context_.loop.defer([this, need] { known_(need); }); // another question was quicker
        return;
    }
    case LookupRequest::Kind::forward:
    case LookupRequest::Kind::include: return user_files_.find(file_of(need));
    default: return; // answered at once, always
    }
}

} // namespace categorizer
