// A token with which a client of the API identifies itself, without its secret. Values.
#pragma once
#include "daemons/common/net/network.h"
#include "libsmtp/text/time_types.h"
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tokens {

enum class Scope : std::uint8_t { read, read_content, submit, operate, remove, suppress, admin, node, last_ = node };
std::string_view name_of(Scope scope); // "read:content"
std::optional<Scope> scope_named(std::string_view name);

class Scopes {
public:
    constexpr void add(Scope scope) { bits_ |= 1U << static_cast<unsigned>(scope); }
    constexpr bool has(Scope scope) const { return (bits_ >> static_cast<unsigned>(scope) & 1U) != 0; }
    constexpr bool empty() const { return bits_ == 0; }
    std::vector<std::string_view> names() const;
    bool operator==(const Scopes&) const = default;

private:
    unsigned bits_ = 0;
};

struct Token {
    static constexpr std::size_t longest_name = 64, most = 1000, most_networks = 50, most_domains = 50;

    std::string name; // letters, digits, "-", "_" and "."
    std::string hash; // SHA-256 of the secret, 64 hexadecimal digits
    Scopes scopes;
    std::string submitter;                   // of its mail, as in the envelope: "token:shop"
    std::vector<std::string> sender_domains; // that its mail may come from; lower case; empty: any
    std::vector<common::Network> networks;   // that it may be used from; empty: any
    smtp::WallTime created{};
    std::optional<smtp::WallTime> expires;
    std::uint32_t rate = 0; // requests per second; 0: no limit
};

bool is_valid_name(std::string_view name);

} // namespace tokens
