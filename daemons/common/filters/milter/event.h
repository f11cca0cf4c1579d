// The events of a mail session that are reported to a filter: the stage, its arguments, and the
// macros that sendmail and Postfix send there. Values; the owner of the mail fills them in.
#pragma once
#include "daemons/common/config/sections/server/filters.h"
#include "daemons/common/filters/milter/message.h"
#include "daemons/common/filters/milter/session.h"

namespace milter {

struct Event {
    config::Stage stage = config::Stage::connect;
    std::string client_name, client_address; // connect
    std::uint16_t client_port = 0;
    std::string text; // helo: the name; mail, rcpt: the address without brackets; unknown: the line
    Macros macros;
    Message* message = nullptr; // end_of_data
};

// What is known of a session and its mail; what is not is "".
struct EventContext {
    std::string_view server;   // our name
    std::string_view listener; // [listen.<name>]
    std::string_view client_name = "unknown", client_address;
    std::uint16_t client_port = 0;
    std::string_view helo, queue_id, sender, recipient, command;
    std::string_view sasl_method, sasl_user, sasl_sender, tls_version, tls_cipher, tls_peer;
    Message* message = nullptr;
};
Event event_of(config::Stage stage, const EventContext& subject);

} // namespace milter
