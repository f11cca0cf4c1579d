// One SMTP reply: code, enhanced status, text. Created by servers, parsed by clients, kept in results
// and logs. Knows the form (RFC 5321 4.2, RFC 2034, RFC 3463), not what a code means for a delivery.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace smtp {

// "5.7.1". Class 0 means none was given.
struct EnhancedStatus {
    std::uint16_t klass = 0, subject = 0, detail = 0;

    // Exactly class.subject.detail: class 2, 4 or 5, the others 0 to 999 without leading zeros.
    static std::optional<EnhancedStatus> parse(std::string_view text);
    bool given() const { return klass != 0; }
    std::string text() const; // "" if none
    auto operator<=>(const EnhancedStatus&) const = default;
};

struct Reply {
    int code = 0;          // 200..599; 0: no reply yet
    EnhancedStatus status; // of the code's own class, or none
    std::string text;      // without code and status; lines are separated by '\n'

    bool positive() const { return code >= 200 && code < 400; }
    bool transient() const { return code >= 400 && code < 500; }
    bool permanent() const { return code >= 500; }

    // One line for logs, results and NDRs: "554 5.7.1 <x>: Relay access denied". Lines are joined by a space.
    std::string line() const;
    // Onto the wire: every line with code, '-' or ' ', status and CRLF. Control bytes become '?'; a line of
    // text is cut at 480 bytes. An enhanced status that is not of the code's class is left out.
    void append_to(std::string& wire) const;

    bool operator==(const Reply&) const = default;
};

} // namespace smtp
