// The keys under which names, addresses of hosts and mail addresses are looked up in access tables, in their order, and
// the syntax of host names. The orders are those of Postfix's access(5). Pure text.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace decide::access {

// A key is `whole` if it is the name or address itself; tables of patterns are asked for no other.
struct Key {
    std::string_view text; // in what it was made of
    bool whole = false;
    bool operator==(const Key&) const = default;
};

// "a.b.example", "b.example", "example"; with dots in front of the parents unless `parent_domains`. Only the text
// itself if it is an address.
std::vector<Key> domain_keys(std::string_view name, bool parent_domains);
// "192.0.2.1", "192.0.2", "192.0", "192"; the same of IPv6 by its colons.
std::vector<Key> network_keys(std::string_view address);
// user+extension@domain, user@domain, the domain's keys, user+extension@, user@. `bare`: keeps the address without its
// extension for the keys.
std::vector<Key> mail_keys(std::string_view address, char delimiter, bool parent_domains, std::string& bare);

// The domain of a mail address, or the whole text without an @.
std::string_view domain_in(std::string_view address);

bool is_address(std::string_view text); // of IPv4 or IPv6, without brackets
// Letters, digits, hyphens and underscores in labels, not only digits; a dot at the end is allowed.
bool is_hostname(std::string_view text);
// "[192.0.2.1]", "[IPv6:2001:db8::1]": the address; "" invalid.
std::string address_in_brackets(std::string_view text);
// "1.2.0.192", "1.0…8.b.d.0.1.0.0.2": as a DNS list has it; "" if it is not an address.
std::string reversed(std::string_view address);

} // namespace decide::access
