#include "daemons/common/lookup/tables/blocking_tables.h"
#include <filesystem>
#include <utility>

namespace tables {

BlockingTables::BlockingTables(const std::vector<config::LookupTable>& sections, std::string maps_socket)
    : log_(loop_, "postrider"), tables_(loop_, log_, [this](const std::string&, const std::string&) { loop_.stop(); }) {
    tables_.configure(sections, std::move(maps_socket));
}

Answer BlockingTables::ask(std::string_view table, std::string_view key) {
    for (;;) {
        auto answer = tables_.find(table, key);
        if (answer.status != Answer::Status::not_yet) return answer;
        tables_.ask(table, key);
        loop_.run();
    }
}

std::string absolute(std::string_view table) {
    const auto colon = table.find(':');
    const auto kind = table.substr(0, colon);
    const bool file = kind == "text" || kind == "lmdb" || kind == "regexp" || kind == "cidr" || kind == "mysql" ||
                      kind == "pgsql" || kind == "ldap";
    if (!file || colon == table.npos || colon + 1 == table.size() || table[colon + 1] == '/') return std::string(table);
    std::error_code none;
    const auto here = std::filesystem::current_path(none);
    return std::string(kind) + ":" + (here / table.substr(colon + 1)).string();
}

} // namespace tables
