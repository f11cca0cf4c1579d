// Sessions of browsers: each represents a token, or a user on the socket, for a lifetime. In memory only, and bounded:
// of one owner, and of all, the oldest makes room. Knows no clock, makes no secrets, and does not know which tokens are
// valid.
#pragma once
#include "libsmtp/text/time_types.h"
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>

namespace http {

class Sessions {
public:
    static constexpr std::size_t most = 5000, most_of_owner = 20;

    explicit Sessions(smtp::Duration lifetime) : lifetime_(lifetime) {}

    struct TokenHash {
        std::string text; // tokens::Token::hash
        bool operator==(const TokenHash&) const = default;
    };
    struct UserId {
        std::uint32_t number;
        bool operator==(const UserId&) const = default;
    };
    using Owner = std::variant<TokenHash, UserId>;

    struct Session {
        Owner owner;
        std::string form_token; // what its forms must have
        smtp::Monotonic since{};
    };

    // `secret`: of its cookie. Its hash is kept.
    void begin(std::string_view secret, Owner owner, std::string form_token, smtp::Monotonic now);
    // Null: there is none, or it has ended.
    const Session* find(std::string_view secret, smtp::Monotonic now);
    void end(std::string_view secret);
    std::size_t size() const { return sessions_.size(); }

private:
    const smtp::Duration lifetime_;
    void make_room(const Owner& owner);
    std::map<std::string, Session> sessions_; // by the hash of their secret
};

} // namespace http
