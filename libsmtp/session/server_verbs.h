// The commands of SMTP by name, and how many of each a client has sent. Knows neither their syntax nor their
// order.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace smtp {

// A command of the client, or where it is without one.
enum class Verb : std::uint8_t {
    ehlo,
    helo,
    starttls,
    auth,
    mail,
    rcpt,
    data,
    bdat,
    rset,
    noop,
    vrfy,
    etrn,
    help,
    xclient,
    xforward,
    quit,
    unknown,
    connect,
    end_of_message,
};
std::string_view name_of(Verb verb); // "MAIL", "UNKNOWN", "CONNECT", "END-OF-MESSAGE", as logs have it

// How many commands came in a session, and how many of them were accepted.
class VerbCounts {
public:
    // Of a command; connect and end_of_message are none.
    void received(Verb verb) { ++of(verb).total; }
    void accepted(Verb verb) { ++of(verb).accepted; }
    // For the disconnect line: "ehlo=1 mail=1 rcpt=0/1 quit=1 commands=3/4".
    std::string text() const;

private:
    struct Count {
        std::uint32_t accepted = 0, total = 0;
    };
    Count& of(Verb verb) { return counts_[static_cast<std::size_t>(verb)]; }

    std::array<Count, static_cast<std::size_t>(Verb::unknown) + 1> counts_{};
};

} // namespace smtp
