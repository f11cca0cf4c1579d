// Rules and what they decide, in rows of a table.
#pragma once
#include "tests/decide/access/world.h"
#include <functional>
#include <string>
#include <vector>

namespace decide::access {

struct Row {
    std::vector<std::string> rules; // of `recipient`
    std::string decided;
    std::function<void(Facts&, World&)> given = {};
    List list = List::recipient;
};

inline void check_rows(const std::vector<Row>& rows) {
    for (const auto& row : rows) {
        CAPTURE(row.rules);
        auto facts = stranger();
        World world;
        if (row.given) row.given(facts, world);
        RuleSet rules;
        rules.recipient_delimiter = '+';
        rules.lists[row.list] = rules_of(row.rules);
        rules.classes["strict"] = rules_of({"check_sender_access text:/good", "reject"});
        rules.classes["outer"] = rules_of({"strict"});
        rules.classes["loop"] = rules_of({"loop"});
        CHECK(shown(decide_by(rules, facts, world, {row.list})) == row.decided);
        world.slow_tables = true;
        world.fetched.clear();
        CHECK_MESSAGE(shown(decide_by(rules, facts, world, {row.list})) == row.decided, "with slow tables");
    }
}

// An access table with one entry.
inline std::function<void(Facts&, World&)> entry(std::string table, std::string key, std::string value) {
    return [=](Facts&, World& world) { world.tables[table][key] = value; };
}

} // namespace decide::access
