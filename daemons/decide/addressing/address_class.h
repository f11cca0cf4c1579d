// What kind of domain an address is in: who may own its addresses, and which reply its unknown recipients get.
#pragma once
#include <string_view>

namespace decide {

enum class AddressClass {
    local,           // aliases, then the users of this system
    virtual_alias,   // addresses that only lead to others
    virtual_mailbox, // mailboxes of people who are not users of this system
    relay,           // accepted for other servers and relayed to them
    remote,
};

// The text for an address that is unknown in its class, worded as in Postfix.
constexpr std::string_view unknown_recipient(AddressClass address_class) {
    switch (address_class) {
    case AddressClass::local: return "User unknown in local recipient table";
    case AddressClass::virtual_alias: return "User unknown in virtual alias table";
    case AddressClass::virtual_mailbox: return "User unknown in virtual mailbox table";
    default: return "User unknown in relay recipient table";
    }
}

} // namespace decide
