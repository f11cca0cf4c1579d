// What an operator can do where mail does not go on: from where it failed and how, to a line of advice. Pure;
// the words are for people, and no program may depend on them.
#pragma once
#include "libsmtp/delivery/stage.h"
#include <string>
#include <string_view>

namespace decide {

struct DeliveryFailure {
    enum class Where : std::uint8_t {
        recipient,    // the categorizer's word
        suppression,  // … that our own list forbids it
        route,        // the router's
        service,      // the router's, of SRV records
        records,      // TLS, as the host's TLSA records demand it …
        policy,       // … or the MTA-STS policy of the domain
        conversation, // all else that is about a server
    };
    Where where = Where::conversation;
    smtp::Stage stage = smtp::Stage::none; // conversation: in which
    int code = 0;                          // the server's; 0: it said nothing
    std::string_view status;               // "4.4.1"
    std::string_view domain = {};          // of the recipient; route, service: whose records were asked for
    std::string_view host = {};      // "mx.example.org[192.0.2.1]:25", "localhost[/run/lmtp]"; "" none was reached for
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
