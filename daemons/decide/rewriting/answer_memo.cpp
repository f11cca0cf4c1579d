#include "daemons/decide/rewriting/answer_memo.h"
#include <utility>

namespace decide {

bool AnswerMemo::look_up(const LookupRequest& need, const ExpansionTables& tables) {
    const auto keep = [&](auto answer, bool there) {
        if (there) answers_.insert_or_assign(need, std::move(answer));
        return there;
    };
    const auto list = [&](AliasAnswer answer) {
        const bool there = answer.status != AliasAnswer::Status::not_yet;
        return keep(std::move(answer), there);
    };
    const auto table = [&](TableAnswer answer) {
        const bool there = answer.status != TableAnswer::Status::not_yet;
        return keep(std::move(answer), there);
    };
    switch (need.kind) {
    case LookupRequest::Kind::alias: return list(tables.alias(need.name));
    case LookupRequest::Kind::forward: return list(tables.forward(need.name, need.key));
    case LookupRequest::Kind::include: return list(tables.include(need.name, need.key));
    case LookupRequest::Kind::table: return table(tables.table(need.name, need.key));
    case LookupRequest::Kind::suppressed: return table(tables.suppressed(need.name));
    case LookupRequest::Kind::user: break;
    }
    const auto answer = tables.user(need.name);
    return keep(answer, answer != UserAnswer::not_yet);
}

ExpansionTables AnswerMemo::layered_over(const ExpansionTables& tables) const {
    if (answers_.empty()) return tables;
    const auto ask = [this]<class A>(const LookupRequest& need, const std::function<A()>& otherwise) {
        const auto at = answers_.find(need);
        return at == answers_.end() ? otherwise() : std::get<A>(at->second);
    };
    ExpansionTables out;
    using Kind = LookupRequest::Kind;
    using Lists = std::function<AliasAnswer()>;
    using Values = std::function<TableAnswer()>;
    if (tables.alias)
        out.alias = [=, &tables](const std::string& name) {
            return ask({Kind::alias, name, {}}, Lists([&] { return tables.alias(name); }));
        };
    if (tables.user)
        out.user = [=, &tables](const std::string& name) {
            return ask({Kind::user, name, {}}, std::function<UserAnswer()>([&] { return tables.user(name); }));
        };
    if (tables.forward)
        out.forward = [=, &tables](const std::string& user, const std::string& extension) {
            return ask({Kind::forward, user, extension}, Lists([&] { return tables.forward(user, extension); }));
        };
    if (tables.include)
        out.include = [=, &tables](const std::string& path, const std::string& user) {
            return ask({Kind::include, path, user}, Lists([&] { return tables.include(path, user); }));
        };
    if (tables.table)
        out.table = [=, &tables](const std::string& table, const std::string& key) {
            return ask({Kind::table, table, key}, Values([&] { return tables.table(table, key); }));
        };
    if (tables.suppressed)
        out.suppressed = [=, &tables](const std::string& address) {
            return ask({Kind::suppressed, address, {}}, Values([&] { return tables.suppressed(address); }));
        };
    return out;
}

} // namespace decide
