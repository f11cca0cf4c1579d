// The file of our own accounts at next hops: one "HOST[:PORT] USER:PASSWORD" or
// "HOST[:PORT] USER |COMMAND" per line, '#' begins a comment; the first word may
// be in brackets, as in a route. A host may have several, each for another user:
// a next hop selects one. Text to value; opens no files, runs no commands.
#pragma once
#include "libsmtp/auth/secret.h"
#include "libsmtp/text/text.h"
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace auth {

struct Account {
    std::string host;       // lower case, as the DNS has it; an address in its shortest form, without brackets
    std::uint16_t port = 0; // 0: any
    std::string user;
    smtp::Secret password;
    std::string command; // "": there is a password; else an sh(1) command that prints a token

    // Names the account in logs and between processes: "alice at relay.example.net:587".
    std::string name() const;
};

struct Credentials {
    static constexpr std::size_t max_accounts = 10'000;

    std::vector<Account> accounts;

    // "line 3: …" describes the first error; it never repeats text from the file.
    static std::expected<Credentials, smtp::Malformed> parse(std::string_view text);
    // The account of that user ("": the first one) at this host: one with its port is preferred to one for any port.
    // Null: none. `host`: a name, or an address without brackets.
    const Account* find(std::string_view host, std::uint16_t port, std::string_view user = "") const;
    const Account* named(std::string_view name) const;
};

} // namespace auth
