// The forms in which an address is looked up in tables, their order, and how a table's answer is interpreted. The
// orders are those of Postfix's canonical(5), virtual(5), relocated(5) and transport(5). Pure text.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace decide {

struct AddressKey {
    enum class Match {
        whole,             // user+extension@domain: the only form for tables of patterns
        without_extension, // user@domain
        name,              // user+extension, or user: for domains whose users are those of this system
        domain,            // @domain; of a transport: domain, .parent or *
    };
    std::string text;
    Match match = Match::whole;
    bool operator==(const AddressKey&) const = default;
};

// The parts of an address, as written. No '@': all of it is the local part.
struct AddressParts {
    std::string_view local, domain;
    std::string_view name(char delimiter) const;      // local part up to the delimiter
    std::string_view extension(char delimiter) const; // with the delimiter; "" none
    static AddressParts of(std::string_view address);
};

enum class BareNames { no, yes };

// They stand for addresses of this system (`is_local`), and for those in the origin, which bare names get: root is
// root@origin, also where that domain is served elsewhere.
BareNames bare_names_for(std::string_view address, bool is_local, std::string_view origin);

// For canonical, virtual, relocated, mailboxes and recipients: the address, without its extension, (bare names
// of our own domains,) "@domain". In lower case, but for the whole address.
std::vector<AddressKey> address_keys(std::string_view address, char delimiter, BareNames bare);
// For transports: the address, without its extension, "domain", ".parent" from the longest to the shortest, "*".
std::vector<AddressKey> transport_keys(std::string_view address, char delimiter);

// "regexp:", "pcre:", "cidr:", "tcp:", "patterns:": asked for whole addresses only.
bool has_patterns(std::string_view table);

// The addresses a table answers with, as Mailbox::parse() takes them.
struct TableAddresses {
    std::vector<std::string> addresses;
    std::string error; // which part of the answer is invalid, and why, in one printable line; "" if all are valid
};

// In the forms of written_addresses.h; at most `limit` and one more. "@other" stands for the same local part in that
// domain, a bare name is in `origin`. An extension that the key left out ("without_extension", "name") is restored.
TableAddresses addresses_of(std::string_view value, std::string_view looked_up, AddressKey::Match match, char delimiter,
                            std::string_view origin, std::size_t limit);

} // namespace decide
