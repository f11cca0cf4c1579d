// What an operator can do about mail that is stuck: maps where and how it failed to a line of advice. Pure; the text is
// for people, and no program may depend on it.
#pragma once
#include "libsmtp/delivery/stage.h"
#include <string>
#include <string_view>

namespace decide {

struct DeliveryFailure {
    enum class Where : std::uint8_t {
        recipient,    // reported by the categorizer
        suppression,  // … because our own list forbids it
        route,        // reported by the router
        service,      // by the router, about SRV records
        records,      // TLS, as the host's TLSA records demand it …
        policy,       // … or the MTA-STS policy of the domain
        conversation, // everything else about a server
    };
    Where where = Where::conversation;
    smtp::Stage stage = smtp::Stage::none; // conversation: its stage
    int code = 0;                          // of the server's reply; 0: no reply
    std::string_view status;               // "4.4.1"
    std::string_view domain = {};          // of the recipient; route, service: whose records were asked for
    std::string_view host = {};      // "mx.example.org[192.0.2.1]:25", "localhost[/run/lmtp]"; "": no host was reached
    std::string_view recipient = {}; // "ann@example.org"
    std::string_view pool = {};      // of source addresses; "" none
    std::string_view user = {};      // whom we send as; "" not known
    int error = 0;                   // these: as in smtp::FailureDetails
    bool silent = false;
    bool wrapped = false;
};

// A few plain sentences, with commands to compare by.
std::string advice(const DeliveryFailure& failure);

} // namespace decide
