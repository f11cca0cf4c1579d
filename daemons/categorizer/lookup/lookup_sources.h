// Everything an expansion asks, under one roof: alias files and what they include, users and their own files,
// lookup tables. Answers what is known, fetches what is not, and tells when it is. Knows no recipients.
#pragma once
#include "daemons/categorizer/lookup/aliases.h"
#include "daemons/categorizer/lookup/includes.h"
#include "daemons/categorizer/lookup/user_files.h"
#include "daemons/categorizer/lookup/users.h"
#include "daemons/common/process/daemon.h"
#include "daemons/common/lookup/tables/tables.h"
#include "daemons/common/logging/problems.h"
#include "daemons/decide/addressing/expansion_tables.h"
#include <functional>
#include <string>
#include <vector>

namespace categorizer {

class Sources {
public:
    // `spool`: its directory, which stays. `known`: one that was not_yet and fetched has an answer now; not from within
    // fetch().
    Sources(common::Surroundings& surroundings, const std::string& spool, common::Troubles& troubles,
            std::function<void(const decide::Need&)> known);
    Sources(const Sources&) = delete;
    Sources& operator=(const Sources&) = delete;

    void configure(const config::Config& config);
    // Reads what has changed. Cheap.
    void look();
    // What is wrong with tables, as the questions so far have found it.
    void tell_troubles() { troubles_.set("tables", lookups_.trouble()); }
    const decide::ExpansionTables& tables() const { return tables_; }
    void fetch(const decide::Need& need);

private:
    // The alias files, then the tables of aliases.
    decide::AliasAnswer of_alias(const std::string& name);
    // What a user's file says: "" is the .forward.
    decide::AliasAnswer of_user(const UserFile& file);

    common::Surroundings& surroundings_;
    common::Troubles& troubles_;
    std::function<void(const decide::Need&)> known_;
    tables::Tables lookups_;
    Aliases aliases_;
    std::vector<std::string> alias_tables_, alias_services_; // of the former, those that are services
    std::size_t most_targets_ = 0; // of one file of a user
    Includes includes_;
    Users users_;
    UserFiles user_files_;
    decide::ExpansionTables tables_;
};

} // namespace categorizer
