// The addresses in the fields of a header that list some, and the fields with other addresses in their place. Nothing
// else of a field changes, not a byte: names, comments, groups, folding; a source route goes with its address. A field
// that is no list of addresses stays as it is. Bounded; must not know why an address is replaced.
#pragma once
#include "libsmtp/message/address_list.h"
#include "libsmtp/message/header.h"
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace smtp {

// Whose addresses a field lists.
enum class AddressFieldKind : std::uint8_t { none, sender, recipient };
AddressFieldKind address_field_kind(std::string_view name);

struct AddressField {
    std::size_t number = 0; // of the field in the header, from 0
    AddressFieldKind kind = AddressFieldKind::none;
    std::string_view raw;     // the whole field with its line ends
    std::size_t value_at = 0; // where its value begins
    std::vector<ListedAddress> addresses;
};

struct HeaderAddresses {
    std::vector<AddressField> fields; // those with addresses
    bool complete = true;             // false: a bound was exceeded; fields that are not listed stay as they are
    struct Unreadable {
        std::string_view name;
        std::string why;
    };
    std::vector<Unreadable> unreadable; // fields that are no list of addresses, but have an "@"; the first ten
};

struct HeaderAddressLimits {
    std::size_t field = 256 * 1024; // bytes
    std::size_t addresses = 10'000; // in all fields
};

// Views into the text of `block`.
HeaderAddresses addresses_of_header(const HeaderBlock& block, const HeaderAddressLimits& limits = {});

// Another address, as the envelope writes it ("ann@example.com"); nothing: it stays.
using AddressReplacement = std::function<std::optional<std::string>(AddressFieldKind kind, const std::string& address)>;

// The whole field with the addresses that are replaced; nothing: all of them stay. Bare names stay.
std::optional<std::string> rewritten_field(const AddressField& field, const AddressReplacement& replacement);

} // namespace smtp
