// What is known about a session when access rules are evaluated, and how replies name it. A value.
#pragma once
#include "daemons/decide/access/lookup.h"
#include "daemons/decide/access/rule.h"
#include "libsmtp/protocol/reply.h"
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace decide::access {

inline constexpr std::string_view unknown_name = "unknown";

struct Facts {
    std::string client_name{unknown_name};  // confirmed by its address
    std::string reverse_name{unknown_name}; // confirmed or not
    std::string client_address;             // "192.0.2.1"; "unknown"
    bool trusted = false;                   // may relay by its address
    bool encrypted = false;
    std::string login;                        // the authenticated user; "" none
    std::string certificate, certificate_key; // fingerprints of the client's certificate and its key; "" none
    bool certificate_verified = false;        // by an authority of ours, and it has not expired
    enum class Listed : std::uint8_t {
        no,
        yes,
        unknown
    } certificate_listed = Listed::no; // in relay.client_certificates
    std::string helo;
    std::optional<std::string> sender, recipient; // none: not there yet, or several recipients
    // Are their domains ours? in_tables: look_up_ours() knows, with the status of a lookup: found if so.
    enum class Ours : std::uint8_t { no, yes, in_tables } sender_ours = Ours::no, recipient_ours = Ours::no;
    std::function<Answer::Status(Subject subject, Questions& questions)> look_up_ours = {};
    // For rules about who owns the sender: its domain as the DNS has it, and whether its users are those of this
    // system.
    std::string sender_domain;
    Ours sender_local = Ours::no;
    std::function<Answer::Status(Questions& questions)> look_up_local = {};
    bool sender_was_bare = false;        // its domain is ours and was not said: trusted clients' senders are completed
    std::string whole_recipient;         // with its domain, which tables are asked for; "": as it was said
    std::uint32_t recipients = 0;        // accepted so far
    bool held = false;                   // the message will be held already
    std::optional<smtp::Reply> relaying; // the rejection by relay control, if any; it comes before `relay`
    std::optional<smtp::Reply> defer_if_permit; // from the lists before, when they are not evaluated together
};

// What a reply is about: "<name>: kind rejected: …".
struct About {
    std::string name;
    std::string_view kind; // "Sender address"
};
inline constexpr std::string_view sender_kind = "Sender address", recipient_kind = "Recipient address";

About about(const Facts& facts, List list, Subject subject);
// Null: not there (yet).
const std::string* text_of(const Facts& facts, Subject subject);
std::string rejection_text(const About& about, std::string_view why);

} // namespace decide::access
