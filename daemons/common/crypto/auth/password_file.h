// The file of users who may authenticate: one "user:hash:scram:addresses" per line, '#' begins a comment.
// The hash is one of crypt(3), scram is smtp::ScramKeys; either may be empty. The addresses, separated by
// commas, are those the user may send as; "@domain" is a whole domain. Text to value and back; opens no
// files. Names and passwords are compared after SASLprep: the composed and the decomposed "jörg" are equal.
#pragma once
#include "libsmtp/auth/scram.h"
#include <expected>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace auth {

struct Entry {
    std::string hash;
    std::optional<smtp::ScramKeys> scram;
    std::vector<std::string> addresses; // lower case
    std::string text() const;           // the part after "user:"
};

struct PasswordFile {
    std::map<std::string, Entry, std::less<>> users; // names as saslprep() has them

    // "line 3: …" describes the first error.
    static std::expected<PasswordFile, smtp::Malformed> parse(std::string_view text);
    const Entry* find(std::string_view user) const;
};

// A name allowed in the file: printable, no colon, no blank, 1 to 255 bytes; not beginning with '#'.
bool is_user_name(std::string_view user);

// SHA-256 by OpenSSL.
extern const smtp::ScramCrypto scram_crypto;
// smtp::ScramClient::Derive by OpenSSL (PBKDF2), of the prepared password (RFC 5802, 3).
smtp::Secret salted_password(std::string_view password, std::string_view salt, std::uint32_t iterations);
inline constexpr std::uint32_t default_iterations = 10'000;
inline constexpr std::size_t default_salt_size = 16;
smtp::ScramKeys make_scram_keys(std::string_view password, std::string salt, std::uint32_t iterations);
// A hash made by other software may be of the password as typed. Slow on purpose: never call it on a loop.
bool matches(const Entry& entry, std::string_view password);
// Of the prepared password, with the method that crypt(3) prefers; "" if it has none. Slow as well.
std::string make_hash(std::string_view password);

} // namespace auth
