#include "daemons/decide/outcome/reply_class.h"
#include <algorithm>
#include <array>
#include <optional>

namespace decide {

namespace {

using smtp::Stage;
using enum ReplyClass;

struct ByStatus {
    std::string_view detail; // "subject.detail" of the enhanced status
    ReplyClass meaning;
};
// RFC 3463, 5248, 6710, 7293, 7372, 7505, 8689, and what IANA's registry has beside them. Those that may mean anything
// are missing: x.0.0, x.1.0, x.2.0 …
constexpr std::array by_status = std::to_array<ByStatus>({
    {"1.1", bad_mailbox},
    {"1.2", bad_domain},
    {"1.3", bad_mailbox},
    {"1.4", bad_mailbox},
    {"1.6", moved},
    {"1.7", sender},
    {"1.8", sender},
    {"1.10", bad_domain},
    {"2.1", inactive_mailbox},
    {"2.2", mailbox_full},
    {"2.3", too_large},
    {"2.4", system},
    {"3.0", system},
    {"3.1", system_full},
    {"3.2", system},
    {"3.3", protocol},
    {"3.4", too_large},
    {"3.5", system},
    {"4.0", connection},
    {"4.1", connection},
    {"4.2", connection},
    {"4.3", dns},
    {"4.4", routing},
    {"4.5", system},
    {"4.6", routing},
    {"4.7", expired},
    {"5.0", protocol},
    {"5.1", protocol},
    {"5.2", protocol},
    {"5.3", rate_limited},
    {"5.4", protocol},
    {"5.5", protocol},
    {"5.6", protocol},
    {"6.0", content},
    {"6.1", content},
    {"6.2", content},
    {"6.3", content},
    {"6.4", content},
    {"6.5", content},
    {"6.6", content},
    {"6.7", content},
    {"6.8", content},
    {"6.9", content},
    {"6.10", content},
    {"7.0", policy},
    {"7.1", policy},
    {"7.2", policy},
    {"7.3", policy},
    {"7.4", policy},
    {"7.5", tls},
    {"7.6", policy},
    {"7.7", content},
    {"7.8", policy},
    {"7.9", policy},
    {"7.10", tls},
    {"7.11", tls},
    {"7.13", inactive_mailbox},
    {"7.16", too_large},
    {"7.17", moved},
    {"7.18", bad_domain},
    {"7.19", policy},
    {"7.20", authentication},
    {"7.21", authentication},
    {"7.22", authentication},
    {"7.23", authentication},
    {"7.24", authentication},
    {"7.25", reverse_name},
    {"7.26", authentication},
    {"7.27", sender},
    {"7.28", rate_limited},
    {"7.29", authentication},
    {"7.30", tls},
});

std::optional<ReplyClass> read_status(std::string_view status) {
    const auto dot = status.find('.');
    if (dot == status.npos) return {};
    const auto* found = std::ranges::find(by_status, status.substr(dot + 1), &ByStatus::detail);
    return found == by_status.end() ? std::nullopt : std::optional(found->meaning);
}

// Without a reply.
ReplyClass read_stage(Stage stage) {
    switch (stage) {
    case Stage::lookup: return dns;
    case Stage::tls: return tls;
    case Stage::auth: return policy;
    case Stage::local: return system;
    case Stage::none: return other;
    default: return connection; // it ended, or nothing came
    }
}

// RFC 5321, 4.2.3, read by where the reply was given.
ReplyClass read_code(int code, Stage stage) {
    const bool to_recipient = stage == Stage::rcpt;
    switch (code) {
    case 421: return system;
    case 450:
    case 550: return to_recipient ? (code == 550 ? bad_mailbox : other) : policy;
    case 451: return system;
    case 452: return system_full;
    case 551: return moved;
    case 552: return to_recipient ? mailbox_full : too_large;
    case 553: return to_recipient ? bad_mailbox : sender;
    case 454:
    case 530:
    case 534:
    case 535:
    case 538: return stage == Stage::tls ? tls : policy;
    case 554: return stage == Stage::banner || stage == Stage::connect ? blocked : policy;
    case 556: return bad_domain; // RFC 7504
    default: return code >= 500 && code <= 509 ? protocol : code == 555 ? protocol : other;
    }
}

} // namespace

ReplyClass class_of(const Observation& seen) {
    if (const auto read = read_status(seen.status)) return *read;
    return seen.code == 0 ? read_stage(seen.stage) : read_code(seen.code, seen.stage);
}

} // namespace decide
