// reject_sender_login_mismatch and its kin, with smtpd_sender_login_maps: they are access rules if there are tables,
// which become auth.sender_login_tables; without tables each user has their own address, auth.sender_match.
#pragma once
#include "daemons/import-postfix/import/import.h"
#include "daemons/import-postfix/postfix/restriction_lists.h"
#include "daemons/import-postfix/restrictions/smtpd_lists.h"
#include <optional>
#include <string>
#include <string_view>

namespace postrider {

class AccessRules;

class SenderLogins {
public:
    SenderLogins(Import& import, AccessRules& access) : import_(import), access_(access) {}

    static bool is_word(std::string_view word);                  // one of these restrictions
    static bool is_one(const postfix::Restriction& restriction); // also behind warn_if_reject
    bool only_as_rule(const Import::Listener& listener) { return !owners(listener).empty(); }

    // True: it is a rule, with the tables in auth.sender_login_tables.
    bool convert(const Import::Listener& listener, std::string_view list, std::string_view word);
    // Before the lists of a listener: classes, which are for all listeners. Any of them may be the result of a table.
    void convert_classes(const Import::Listener& listener);
    // A class, or a table whose results name such a restriction or may do so.
    void convert_results(const Import::Listener& listener, std::string_view list,
                         const postfix::Restriction& restriction);

private:
    bool has_logins(const Import::Listener& listener);
    std::string owners(const Import::Listener& listener);
    bool has_owners() const;
    void convert_owners(const std::string& maps);
    std::optional<bool> leads_to_one(const postfix::Restriction& restriction, bool stays, int depth = 0);
    std::optional<bool> are_in(std::string_view table);

    Import& import_;
    AccessRules& access_;
    std::string maps_; // smtpd_sender_login_maps of the first listener that has them
};

} // namespace postrider
