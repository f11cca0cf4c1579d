// smtpd, pickup ↔ categorizer: would this recipient be accepted? Asked at RCPT for addresses in our own domains, and
// for all addresses while the suppression list is not empty, as pickup asks then; answered without touching a message.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

namespace proto::recipient_check {

inline constexpr std::string_view conversation = "recipient_check";

struct Check { // smtpd, pickup → categorizer
    std::uint64_t request = 0;
    std::string address;
    std::string sender;     // envelope sender of the mail, as far as its domain matters; "" none
    std::string pool, lane; // of the mail; "" not known yet
    static void fields(auto& m, auto& f) {
        f("request", m.request);
        f("address", m.address);
        f("sender", m.sender);
        f("pool", m.pool);
        f("lane", m.lane);
    }
};

enum class Verdict : std::uint8_t { known, unknown, not_ours, try_later, last_ = try_later };

struct Checked { // categorizer → smtpd, pickup
    std::uint64_t request = 0;
    Verdict verdict = Verdict::known;
    std::string text;        // unknown, try_later: "User unknown in local recipient table"
    std::string status = {}; // unknown: "5.1.1"
    bool suppressed = false; // unknown: because it is on the suppression list
    static void fields(auto& m, auto& f) {
        f("request", m.request);
        f("verdict", m.verdict);
        f("text", m.text);
        f("status", m.status);
        f("suppressed", m.suppressed);
    }
};

struct Suppressions { // categorizer → smtpd, pickup: the suppression list has changed, or the connection is new
    bool any = false; // is it not empty? Then recipients elsewhere are to be checked, too
    static void fields(auto& m, auto& f) { f("any", m.any); }
};

using Message = std::variant<Check, Checked, Suppressions>;

} // namespace proto::recipient_check
