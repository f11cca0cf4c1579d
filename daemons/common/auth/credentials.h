// The file of our own accounts at next hops: one "HOST[:PORT] USER:PASSWORD" or "HOST[:PORT] USER |COMMAND"
// per line, '#' begins a remark; the first word may be in brackets, as in a route. Text to value; opens no
// files, runs no commands.
#pragma once
#include "libsmtp/secret.h"
#include "libsmtp/text.h"
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace auth {

struct Account {
    std::string host; // lower case, as the DNS has it; an address in its shortest form, without brackets
    std::uint16_t port = 0; // 0: any
    std::string user;
    smtp::Secret password;
    std::string command; // "": there is a password; else what prints a token, as for sh(1)

    // Names the account in logs and between processes: "alice at relay.example.net:587".
    std::string name() const;
};

struct Credentials {
    static constexpr std::size_t most = 10'000; // accounts

    std::vector<Account> accounts;

    // "line 3: …" is the first thing wrong; it never repeats what stands in the file.
    static std::expected<Credentials, smtp::Malformed> parse(std::string_view text);
    // The account at this host: that with its port before that for any; null: none. `host`: a name, or an
    // address without brackets.
    const Account* find(std::string_view host, std::uint16_t port) const;
    const Account* named(std::string_view name) const;
};

} // namespace auth
