// Tables queried by a command, which waits for the answer. The same tables as the daemons', with a loop of their own.
#pragma once
#include "daemons/common/lookup/format/contents.h"
#include "daemons/common/lookup/tables/tables.h"
#include <expected>

namespace tables {

class BlockingTables {
public:
    // The [table.NAME] sections there are, and the socket of the process maps.
    explicit BlockingTables(const std::vector<config::LookupTable>& sections = {}, std::string maps_socket = {});

    // Never not_yet: waits until it is known.
    Answer ask(std::string_view table, std::string_view key);
    // Lines of its file that are skipped or odd, once it was asked.
    std::vector<Problem> problems(std::string_view table) { return tables_.problems(table); }

private:
    common::Loop loop_;
    common::Log log_; // to nowhere
    Tables tables_;
};

// As a person at a terminal names a table: the same, but paths may be relative.
std::string absolute(std::string_view table);

} // namespace tables
