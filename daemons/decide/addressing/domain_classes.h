// Which class a domain is in: names that the configuration lists, and tables whose keys are domains. A value, and pure:
// tables are looked up through a function, whose answer may be pending. A name decides at once: what tables have, and
// whether they answer, does not matter for it.
#pragma once
#include "daemons/decide/addressing/address_class.h"
#include "daemons/decide/rewriting/expansion_tables.h"
#include <expected>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace decide {

// Or what a table has answered instead: not_yet, or unreadable.
using ClassAnswer = std::expected<AddressClass, TableAnswer>;
using LocalAnswer = std::expected<bool, TableAnswer>;

// Lists of tables, by class. Any value that is not empty will do.
struct DomainTables {
    std::vector<std::string> local, virtual_alias, virtual_mailbox, relay;
    // Under which keys tables of `relay` have the domains above one: ".example.com", or "example.com".
    enum class Parents : std::uint8_t { dotted, plain } parents = Parents::dotted;
    bool empty() const { return local.empty() && virtual_alias.empty() && virtual_mailbox.empty() && relay.empty(); }
};

// Domains are in lower case, as the DNS has them. "" is in no class of ours.
class DomainClasses {
public:
    using LookUp = std::function<TableAnswer(const std::string& table, const std::string& key)>;

    // ".x", of the class relay only: all domains below x. A domain that is in two classes stays in the first.
    void add(std::string_view domain, AddressClass where);
    void set_tables(DomainTables tables) { tables_ = std::move(tables); }

    // A name of any class; then tables of local, virtual_alias, virtual_mailbox, relay, in this order. The first one
    // that cannot be read is the answer: what is behind it may be another class.
    ClassAnswer find(std::string_view domain, const LookUp& look_up) const;
    // Asks no tables but those of local.
    LocalAnswer is_local(std::string_view domain, const LookUp& look_up) const;
    // Without tables. Nothing: they decide.
    std::optional<AddressClass> by_name(std::string_view domain) const;
    bool has_tables() const { return !tables_.empty(); }

private:
    struct NameHash {
        using is_transparent = void;
        std::size_t operator()(std::string_view name) const { return std::hash<std::string_view>{}(name); }
    };
    bool below_a_relayed_one(std::string_view domain) const;

    std::unordered_map<std::string, AddressClass, NameHash, std::equal_to<>> names_;
    std::set<std::string, std::less<>> relayed_below_; // ".example.com"
    DomainTables tables_;
};

} // namespace decide
