// How the journal records an address that it must not name (history.addresses = "hashed"): the domain stays, the rest
// is a hash with a secret of the node, so that it is found with the
// secret and the address, and cannot be read. Knows addresses and lines of the journal; must not know files.
#pragma once
#include "libspool/disk/disk.h"
#include <optional>
#include <string>
#include <string_view>

namespace history {

inline constexpr std::string_view address_secret_file = "address.secret";
inline constexpr std::size_t address_secret_size = 32;

class AddressHash {
public:
    // `secret`: address_secret_size bytes.
    explicit AddressHash(std::string secret);

    // "#0123456789abcdef0123456789abcdef@example.org": 32 hexadecimal digits. Letters count as lower case. What is
    // recorded in this form already, and "", stay as they are.
    std::string of(std::string_view address) const;
    // The text with all that looks like an address in this form.
    std::string in_text(std::string_view text) const;
    // The same for the addresses of an event whose line begins at `from` and is not ended yet: members that are an
    // address or a list of them, and texts of servers and operators.
    void hash_line(std::string& buffer, std::size_t from) const;

private:
    std::string secret_;
};

// The secret of the journal in this directory. Nothing: there is none.
spool::Result<std::optional<std::string>> read_address_secret(spool::Disk& disk, const std::string& directory);
// The same; it is made of `random` if there is none, and durable when this returns.
spool::Result<std::string> make_address_secret(spool::Disk& disk, const std::string& directory,
                                               const std::string& random);

} // namespace history
