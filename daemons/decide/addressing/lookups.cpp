#include "daemons/decide/addressing/lookups.h"

namespace decide {

Lookups::Found Lookups::in_tables(const std::vector<std::string>& tables, const std::vector<AddressKey>& keys) {
    Found out;
    if (!tables_.table) return out;
    for (const auto& key : keys)
        for (const auto& table : tables) {
            if (has_patterns(table) && &key != &keys.front()) continue;
            auto answer = tables_.table(table, key.text);
            if (answer.said == TableAnswer::Said::not_yet) {
                needed_.insert({Need::Kind::table, table, key.text});
                out.answer.said = TableAnswer::Said::not_yet;
            } else if (answer.said != TableAnswer::Said::none && out.answer.said == TableAnswer::Said::none) {
                return {std::move(answer), key.match, table};
            }
        }
    return out;
}

AliasAnswer Lookups::alias(const std::string& name) {
    auto answer = tables_.alias ? tables_.alias(name) : AliasAnswer{};
    if (answer.said == AliasAnswer::Said::not_yet) needed_.insert({Need::Kind::alias, name, {}});
    return answer;
}

UserAnswer Lookups::user(const std::string& name) {
    const auto answer = tables_.user(name);
    if (answer == UserAnswer::not_yet) needed_.insert({Need::Kind::user, name, {}});
    return answer;
}

AliasAnswer Lookups::forward(const std::string& user, const std::string& extension) {
    auto answer = tables_.forward ? tables_.forward(user, extension) : AliasAnswer{};
    if (answer.said == AliasAnswer::Said::not_yet) needed_.insert({Need::Kind::forward, user, extension});
    return answer;
}

AliasAnswer Lookups::include(const std::string& path, const std::string& user) {
    auto answer = tables_.include ? tables_.include(path, user) : AliasAnswer{};
    if (answer.said == AliasAnswer::Said::not_yet) needed_.insert({Need::Kind::include, path, user});
    return answer;
}

TableAnswer Lookups::suppressed(const std::string& address) {
    auto answer = tables_.suppressed ? tables_.suppressed(address) : TableAnswer{};
    if (answer.said == TableAnswer::Said::not_yet) needed_.insert({Need::Kind::suppressed, address, {}});
    return answer;
}

TableAnswer Lookups::delivered_before(const std::string& address) {
    return tables_.delivered_before ? tables_.delivered_before(address) : TableAnswer{};
}

} // namespace decide
