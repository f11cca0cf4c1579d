// Several hosts to which a table sends mail, in order of preference: "[mx1.example],[mx2.example]:26". As the lists of
// next hops in Postfix's transport(5). A value.
#pragma once
#include "daemons/decide/routing/routing.h"
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace decide {

// Are there several words, separated by commas or blanks?
bool is_list(std::string_view text);
// The words.
std::vector<std::string_view> list_items(std::string_view text);

struct HostList {
    static constexpr std::size_t most = 20;
    static constexpr std::size_t longest = 1000; // bytes of to_string(): each recipient's record may have them
    std::vector<NextHop> hosts;                  // two or more, each one a host itself (NextHop::Kind::host)

    // Empty: there is only one, or a name whose MX hosts are meant, too many, or something
    // else.
    static std::optional<HostList> parse(std::string_view text);
    std::string to_string() const; // without blanks
    bool operator==(const HostList&) const = default;
};

} // namespace decide
