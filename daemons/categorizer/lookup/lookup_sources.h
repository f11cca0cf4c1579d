// Everything an expansion asks, under one roof: alias files and what they include, users and their own files,
// lookup tables. Answers what is known, fetches what is not, and tells when it is. Knows no recipients.
#pragma once
#include "daemons/categorizer/lookup/aliases.h"
#include "daemons/categorizer/lookup/includes.h"
#include "daemons/categorizer/lookup/user_files.h"
#include "daemons/categorizer/lookup/users.h"
#include "daemons/common/config/sections/system/mta.h"
#include "daemons/common/logging/problems.h"
#include "daemons/common/lookup/tables/tables.h"
#include "daemons/common/process/daemon.h"
#include "daemons/decide/rewriting/expansion_tables.h"
#include <functional>
#include <string>
#include <vector>

namespace categorizer {

class LookupSources {
public:
    // `spool`: its directory, which stays. `known`: one that was not_yet and fetched has an answer now; not from within
    // fetch().
    LookupSources(common::DaemonContext& context, const std::string& spool, common::Problems& problems,
                  std::function<void(const decide::LookupRequest&)> known);
    LookupSources(const LookupSources&) = delete;
    LookupSources& operator=(const LookupSources&) = delete;

    void configure(const config::Local& local, const config::Mta& mta, const std::vector<config::LookupTable>& tables);
    // Reads what has changed. Cheap.
    void refresh();
    // What is wrong with tables, as the questions so far have found it.
    void update_problems() { problems_.set("tables", lookups_.problem()); }
    const decide::ExpansionTables& tables() const { return tables_; }
    // `tables`, which are these with something before them, but without answers of before `since` that a table or the
    // tables of aliases have no such key: those are fetched again.
    decide::ExpansionTables fresh(decide::ExpansionTables tables, smtp::Now since);
    void fetch(const decide::LookupRequest& need);

private:
    // The alias files, then the tables of aliases.
    decide::AliasAnswer find_alias(const std::string& name);
    // What a user's file says: "" is the .forward.
    decide::AliasAnswer find_user_file(const UserFile& file);

    common::DaemonContext& context_;
    std::string spool_;
    common::Problems& problems_;
    std::function<void(const decide::LookupRequest&)> known_;
    tables::Tables lookups_;
    Aliases aliases_;
    std::vector<std::string> alias_tables_, alias_services_; // of the former, those that are services
    std::size_t max_targets_ = 0;                            // of one file of a user
    IncludeFiles includes_;
    Users users_;
    UserFiles user_files_;
    decide::ExpansionTables tables_;
};

} // namespace categorizer
