// The stages of sending a message to its next hop: where a reply was given, or a failure happened.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace smtp {

enum class Stage : std::uint8_t {
    none,      // before anything was tried
    lookup,    // the host's addresses
    connect,   // TCP
    banner,    // the greeting
    ehlo,      // EHLO or HELO
    tls,       // STARTTLS and what follows it
    auth,      // AUTH
    mail,      // MAIL FROM
    rcpt,      // RCPT TO
    data,      // the DATA command
    content,   // the message itself
    final_dot, // the reply to the whole message
    local,     // no SMTP: delivery on this host
    last_ = local,
};

// In one word that never changes, for programs that read what Postrider
// records.
constexpr std::string_view name_of(Stage stage) {
    constexpr std::string_view names[] = {"none", "lookup", "connect", "banner",  "ehlo",      "tls",  "auth",
                                          "mail", "rcpt",   "data",    "content", "final_dot", "local"};
    return names[static_cast<std::size_t>(stage)];
}
// What was asked, as the log names it: "MAIL FROM command", "end of DATA command"; "" for stages without one.
constexpr std::string_view command_of(Stage stage) {
    switch (stage) {
    case Stage::banner: return "initial server greeting";
    case Stage::ehlo: return "EHLO command";
    case Stage::tls: return "STARTTLS command";
    case Stage::auth: return "AUTH command";
    case Stage::mail: return "MAIL FROM command";
    case Stage::rcpt: return "RCPT TO command";
    case Stage::data: return "DATA command";
    case Stage::content:
    case Stage::final_dot: return "end of DATA command";
    default: return "";
    }
}

} // namespace smtp
