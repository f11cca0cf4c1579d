// The settings of one listener's sessions, and the rights of privileged clients. Values; know no session.
#pragma once
#include "libsmtp/protocol/capabilities.h"
#include "libsmtp/text/time_types.h"
#include <cstddef>
#include <cstdint>
#include <string>

namespace smtp {

// The settings of one listener's sessions. Shared by all of them; must outlive them.
struct ServerSettings {
    enum class ContentLines : std::uint8_t { normalise, reject }; // a bare CR or LF in content
    enum class EarlyBytes : std::uint8_t { refuse, tolerate };    // before the banner, after EHLO or DATA

    std::string hostname = "localhost";
    std::string banner = "ESMTP Postrider";                                   // after the host name
    Capabilities capabilities;                                                // in plain text
    Capabilities tls_capabilities;                                            // once TLS is up
    enum class Tls : std::uint8_t { optional, required } tls = Tls::optional; // required: before any mail
    ContentLines content_lines = ContentLines::normalise;
    EarlyBytes early_bytes = EarlyBytes::refuse;

    std::size_t line = 2048;                       // a command with its CRLF
    std::uint64_t message_size = 50 * 1024 * 1024; // bytes of decoded content; 0: no limit
    std::uint64_t skipped = 64 * 1024 * 1024;      // bytes read and thrown away of a message over the limit
    std::uint32_t recipients = 1000;               // per transaction
    std::uint32_t soft_errors = 10;                // from here each refusal is held back for error_delay
    std::uint32_t hard_errors = 20;                // 421 and closed
    std::uint32_t bare_lines = 3;                  // commands with a bare CR or LF before the session ends
    std::uint32_t junk_commands = 100;             // NOOP, RSET, HELP, VRFY between two messages; then errors
    Duration error_delay = std::chrono::seconds(1);
    Duration command_time = std::chrono::minutes(5); // from a reply to the next whole command
    Duration data_time = std::chrono::minutes(5);    // between two pieces of content
    Duration rate_window = std::chrono::minutes(1);  // content is measured over this
    std::uint64_t min_data_rate = 100;               // bytes per second over a window; 0: none asked
};

// Granted to certain clients.
struct ServerRights {
    // The commands by which a proxy speaks for others; refused (550) and not shown without the right to them.
    bool xclient = false, xforward = false;
    bool bare_newlines = false; // a bare LF ends a line, and LF.LF a message
};

// What is reported of a client that is being tested.
struct ServerWatch {
    bool pipelining = false; // PIPELINING is not offered; a command before the reply to the last one
    bool non_smtp = false;   // a command of another protocol, a header field
    bool bare_newlines = false;
};

} // namespace smtp
