// smtpd ↔ categorizer: would this recipient be accepted? Asked at RCPT for addresses in our own domains,
// answered without touching a message.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

namespace proto::recipient_check {

inline constexpr std::string_view conversation = "recipient_check";

struct Check { // smtpd → categorizer
    std::uint64_t request = 0;
    std::string address;
    static void fields(auto& m, auto& f) {
        f("request", m.request);
        f("address", m.address);
    }
};

enum class Verdict : std::uint8_t { known, unknown, not_ours, try_later, last_ = try_later };

struct Checked { // categorizer → smtpd
    std::uint64_t request = 0;
    Verdict verdict = Verdict::known;
    std::string text;   // unknown, try_later: "User unknown in local recipient table"
    std::string status = {}; // unknown: "5.1.1"
    static void fields(auto& m, auto& f) {
        f("request", m.request);
        f("verdict", m.verdict);
        f("text", m.text);
        f("status", m.status);
    }
};

using Message = std::variant<Check, Checked>;

} // namespace proto::recipient_check
