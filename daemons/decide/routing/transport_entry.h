// A transport table's entry for a recipient: a next hop, a kind of mailbox here, or a final result. In the syntax of
// this configuration ("[relay.example]:25", "lmtp:/run/lmtp", "mx") and of Postfix's transport(5)
// ("smtp:[relay.example]", "smtp:[mx1.example], [mx2.example]", "lmtp:unix:/run/lmtp", "local:", "error:5.1.2 gone",
// "discard:", ":"; the name of a program or of a route: "slow:", "slow:[relay.example]"). A value.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace decide {

// What a transport of a name may be: [command.<name>], and [route."<name>"] without a dot.
struct TransportNames {
    std::vector<std::string> commands, routes;
};

struct TransportEntry {
    enum class Kind {
        as_usual, // "", ":": as the address's class says
        local,    // "local:": to the alias or user of its local part, as if its domain were a local one
        mailbox,  // "virtual:": to the mailbox [virtual_mailbox] has for it, as if its domain were one of those
        command,  // "command:NAME", or as in Postfix "NAME:", of a program: `value` is its name
        next_hop, // `value` is one as NextHop::to_string() writes it, or as RouteName or HostList do
        discard,  // accepted and thrown away
        fail,     // permanently: `status` and `value`, the text
        defer,    // for now: the same
    };
    Kind kind = Kind::as_usual;
    std::string value;
    std::string status;  // discard, fail, defer: "5.1.2", of the matching class
    std::string warning; // for the author of the entry; "" nothing

    // Empty: it is invalid. In a transport table the name of a transport needs no colon, as in Postfix; for the relay
    // of a sender a word without one is a host.
    static std::optional<TransportEntry> parse(std::string_view text, const TransportNames& names = {});
    static std::optional<TransportEntry> parse_relay(std::string_view text, const TransportNames& names);
    bool operator==(const TransportEntry&) const = default;
};

} // namespace decide
