// A connection to an LDAP directory, by libldap. What is put into filters and names is escaped.
#pragma once
#include "daemons/common/lookup/database/result_values.h"
#include "daemons/maps/database.h"
#include <deque>
#include <ldap.h>
#include <optional>
#include <set>

namespace maps {

class LdapDatabase final : public Database {
public:
    static void prepare();

    explicit LdapDatabase(const tables::DatabaseTable& table) : table_(table) {}
    ~LdapDatabase() override;
    std::expected<void, std::string> connect(const tables::DatabaseServer& server, Deadline deadline) override;
    Outcome look_up(const std::string& key, Deadline deadline) override;

private:
    struct Search {
        std::string base, filter;
        int scope = LDAP_SCOPE_SUBTREE;
        bool of_key = false; // its base depends on the key, or is a value that was found
        std::size_t depth = 0;
    };
    // Of entries that others name, as members of a group.
    struct Names {
        // Once. False: it cannot be followed, and `problem` is why.
        bool add(std::string_view name, std::size_t depth);

        std::size_t deepest = 0;
        std::set<std::string, std::less<>> seen;
        std::deque<std::pair<std::string, std::size_t>> to_do; // with their depth
        std::string problem;
    };
    std::string error_text(int code) const;
    std::expected<void, std::string> bind(Deadline deadline);
    // Adds the values of its entries, and the names of further ones; nothing: all was read.
    std::optional<Outcome> search(const Search& search, tables::ResultValues& values, Names& names, Deadline deadline);
    bool take_entry(LDAPMessage* entry, tables::ResultValues& values, Names& names, std::size_t depth);
    Outcome search_failed(int code);

    const tables::DatabaseTable& table_;
    LDAP* connection_ = nullptr;
    std::vector<char*> attributes_; // of each search; ends with null
};

} // namespace maps
