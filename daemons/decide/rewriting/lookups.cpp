#include "daemons/decide/rewriting/lookups.h"

namespace decide {

Lookups::Found Lookups::in_tables(const std::vector<std::string>& tables, const std::vector<AddressKey>& keys) {
    Found out;
    for (const auto& key : keys)
        for (const auto& table : tables) {
            if (has_patterns(table) && &key != &keys.front()) continue;
            auto answer = this->table(table, key.text);
            if (answer.status == TableAnswer::Status::not_yet) {
                out.answer.status = TableAnswer::Status::not_yet;
            } else if (answer.status != TableAnswer::Status::none && out.answer.status == TableAnswer::Status::none) {
                return {std::move(answer), key.match, table};
            }
        }
    return out;
}

TableAnswer Lookups::table(const std::string& table, const std::string& key) {
    auto answer = tables_.table ? tables_.table(table, key) : TableAnswer{};
    if (answer.status == TableAnswer::Status::not_yet) unanswered_.insert({LookupRequest::Kind::table, table, key});
    return answer;
}

AliasAnswer Lookups::alias(const std::string& name) {
    auto answer = tables_.alias ? tables_.alias(name) : AliasAnswer{};
    if (answer.status == AliasAnswer::Status::not_yet) unanswered_.insert({LookupRequest::Kind::alias, name, {}});
    return answer;
}

UserAnswer Lookups::user(const std::string& name) {
    const auto answer = tables_.user(name);
    if (answer == UserAnswer::not_yet) unanswered_.insert({LookupRequest::Kind::user, name, {}});
    return answer;
}

AliasAnswer Lookups::forward(const std::string& user, const std::string& extension) {
    auto answer = tables_.forward ? tables_.forward(user, extension) : AliasAnswer{};
    if (answer.status == AliasAnswer::Status::not_yet)
        unanswered_.insert({LookupRequest::Kind::forward, user, extension});
    return answer;
}

AliasAnswer Lookups::include(const std::string& path, const std::string& user) {
    auto answer = tables_.include ? tables_.include(path, user) : AliasAnswer{};
    if (answer.status == AliasAnswer::Status::not_yet) unanswered_.insert({LookupRequest::Kind::include, path, user});
    return answer;
}

TableAnswer Lookups::suppressed(const std::string& address) {
    auto answer = tables_.suppressed ? tables_.suppressed(address) : TableAnswer{};
    if (answer.status == TableAnswer::Status::not_yet)
        unanswered_.insert({LookupRequest::Kind::suppressed, address, {}});
    return answer;
}

TableAnswer Lookups::delivered_before(const std::string& address) {
    return tables_.delivered_before ? tables_.delivered_before(address) : TableAnswer{};
}

} // namespace decide
