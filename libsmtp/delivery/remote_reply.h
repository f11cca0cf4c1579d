// A server's reply about a recipient, a message or a connection; or the failure if there was no reply. From
// the client session and the delivery agents to the log, the queue, its listings and the report to the sender.
#pragma once
#include "libsmtp/delivery/failure_details.h"
#include "libsmtp/delivery/outcome.h"
#include "libsmtp/delivery/stage.h"
#include <cstdint>
#include <string>

namespace smtp {

struct RemoteReply {
    std::string status;        // enhanced, "4.4.2": the server's, else our own
    std::string text;          // our line for log, listings and NDR: "host NAME[IP] said: 550 … (in reply to …)"
    std::string remote_reply;  // the server's own words, "550 5.1.1 No such user"; "" where none spoke
    std::string remote_host;   // whose words they are, "mx.example.org"; "" where none spoke
    Stage stage = Stage::none; // of the conversation, where there was one or should have been
    std::uint16_t code = 0;    // the server's; 0: it said nothing, or nothing intelligible
    FailureDetails details = {};
    bool in_doubt = false; // all of the message had been sent, its reply never came
    std::string at;        // the host, "mx.example.org[192.0.2.1]:25", "localhost[/run/lmtp]", also where it did not
                    // speak; "" none was tried. Of a route that was not found: the name whose MX records were asked for
    bool by_srv = false;     // of a route that was not found: `at` is the name whose SRV records were asked for
    bool suppressed = false; // a recipient that is on the suppression list
    static void fields(auto& m, auto& f) {
        f("status", m.status);
        f("text", m.text);
        f("remote_reply", m.remote_reply);
        f("remote_host", m.remote_host);
        f("stage", m.stage);
        f("code", m.code);
        f("error", m.details.error);
        f("silent", m.details.timed_out);
        f("wrapped", m.details.implicit_tls);
        f("demand", m.details.demand);
        f("in_doubt", m.in_doubt);
        f("at", m.at);
        f("suppressed", m.suppressed);
    }
    bool operator==(const RemoteReply&) const = default;
};

// What became of a recipient, or of a connection, and why.
struct Verdict : RemoteReply {
    Outcome outcome = Outcome::deferred;
    std::string rule = {}; // of its route, which decided that: "550 5.7.1 at MAIL is temporary"; "" none
    bool operator==(const Verdict&) const = default;
};

} // namespace smtp
