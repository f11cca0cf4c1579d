// A connection to an LDAP directory, by libldap. What is put into filters and names is escaped.
#pragma once
#include "daemons/common/lookup/database/result_values.h"
#include "daemons/maps/database.h"
#include <ldap.h>
#include <optional>

namespace maps {

class LdapDatabase final : public Database {
public:
    explicit LdapDatabase(const tables::DatabaseTable& table) : table_(table) {}
    ~LdapDatabase() override;
    std::expected<void, std::string> connect(const tables::DatabaseServer& server, Deadline deadline) override;
    Outcome look_up(const std::string& key, Deadline deadline) override;

private:
    struct Search {
        std::string base, filter;
        int scope = LDAP_SCOPE_SUBTREE;
        bool of_key = false; // its base depends on the key, or is a value that was found
    };
    std::string error_text(int code) const;
    std::expected<void, std::string> bind(Deadline deadline);
    // Adds the values of its entries, and the names of further ones; nothing: all was read.
    std::optional<Outcome> search(const Search& search, tables::ResultValues& values, std::vector<std::string>& names,
                                  Deadline deadline);
    bool take_entry(LDAPMessage* entry, tables::ResultValues& values, std::vector<std::string>& names);
    Outcome search_failed(int code);

    const tables::DatabaseTable& table_;
    LDAP* connection_ = nullptr;
    std::vector<char*> attributes_; // of each search; ends with null
};

} // namespace maps
