// The lookups of one expansion or check: made in order, remembered if the answer is pending. Knows nothing about mail
// beyond the forms of an address.
#pragma once
#include "daemons/decide/rewriting/address_keys.h"
#include "daemons/decide/rewriting/expansion_tables.h"
#include <set>
#include <string>
#include <vector>

namespace decide {

class Lookups {
public:
    explicit Lookups(const ExpansionTables& tables) : tables_(tables) {}

    struct Found {
        TableAnswer answer;
        AddressKey::Match match = AddressKey::Match::whole;
        std::string table = {}; // that has the answer
    };
    // Each key is looked up in all tables before the next key. While an answer is pending, the lookups behind it are
    // requested as well, so that all answers are fetched at once.
    Found in_tables(const std::vector<std::string>& tables, const std::vector<AddressKey>& keys);
    TableAnswer table(const std::string& table, const std::string& key);
    AliasAnswer alias(const std::string& name);
    UserAnswer user(const std::string& name);
    AliasAnswer forward(const std::string& user, const std::string& extension);
    AliasAnswer include(const std::string& path, const std::string& user);
    TableAnswer suppressed(const std::string& address);
    TableAnswer delivered_before(const std::string& address);

    std::set<LookupRequest>& unanswered() { return unanswered_; } // what was not_yet

private:
    const ExpansionTables& tables_;
    std::set<LookupRequest> unanswered_;
};

} // namespace decide
