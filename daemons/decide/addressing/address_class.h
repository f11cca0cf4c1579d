// What kind of domain an address is in: who may have it, and what unknown recipients of it are told.
#pragma once
#include <string_view>

namespace decide {

enum class AddressClass {
    local,           // aliases, then the users of this system
    virtual_alias,   // addresses that only lead to others
    virtual_mailbox, // mailboxes of who are no users of this system
    relay,           // accepted for others, and sent on
    remote,
};

// What is said of an address that its class has no recipient for; in the words that Postfix's users know.
constexpr std::string_view unknown_recipient(AddressClass address_class) {
    switch (address_class) {
    case AddressClass::local: return "User unknown in local recipient table";
    case AddressClass::virtual_alias: return "User unknown in virtual alias table";
    case AddressClass::virtual_mailbox: return "User unknown in virtual mailbox table";
    default: return "User unknown in relay recipient table";
    }
}

} // namespace decide
