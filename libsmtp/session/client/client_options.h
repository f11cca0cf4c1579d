// How a client's conversation is to be led: its time limits, what it may use of what the server offers, and what it
// must have. Values, fixed when the conversation begins.
#pragma once
#include "libsmtp/auth/sasl_client.h"
#include "libsmtp/protocol/protocol.h"
#include "libsmtp/text/time_types.h"
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace smtp {

struct ClientTimeouts {
    Duration banner = std::chrono::seconds(300), ehlo = std::chrono::seconds(300);
    Duration mail = std::chrono::seconds(300), rcpt = std::chrono::seconds(300);
    Duration data = std::chrono::seconds(120), block = std::chrono::seconds(180);
    Duration final_dot = std::chrono::seconds(600);
    // Bounds on what moves, but slowly: bytes a second of content, on average once `block` has passed (0: none),
    // and a transaction up to the end of its content, beside the time that the content has by that rate.
    std::uint64_t minimum_rate = 0;
    Duration transaction = std::chrono::hours(1);
};

struct ClientAuth {                        // RFC 4954
    std::vector<SaslMechanism> mechanisms; // that we have an account or token for; none: no authentication
    bool without_tls = false;              // those that show the password may be used in plain text
};

struct ClientOptions {
    enum class Pipelining : std::uint8_t { if_offered, never };
    enum class Chunking : std::uint8_t { if_useful, never };
    enum class StartTls : std::uint8_t { never, if_offered, always, wrapped };

    std::string name; // for EHLO
    std::string peer; // "NAME[IP]": for texts
    Pipelining pipelining = Pipelining::if_offered;
    StartTls tls = StartTls::never; // always: without it the conversation ends; wrapped: from the first byte
    ClientTimeouts timeouts = {};
    // A domain in the DNS' letters (IDNA), for servers without SMTPUTF8; "" if it has none. Not set: none has.
    std::function<std::string(std::string_view domain)> ascii_domain = {};
    ClientAuth auth = {};         // not empty: without it the conversation ends
    bool report_dialogue = false; // every command and reply is an event, CommandSent and ReplyReceived
    Protocol protocol = Protocol::smtp;
    Chunking chunking = Chunking::if_useful;
};

} // namespace smtp
