#include "daemons/import-postfix/restrictions/verification.h"
#include "daemons/import-postfix/import/import.h"
#include <algorithm>
#include <fmt/format.h>

namespace postrider {

namespace {

// Postfix polls at once, and then after each delay.
void import_verification_wait(Import& import) {
    constexpr std::string_view count = "address_verify_poll_count", delay = "address_verify_poll_delay";
    if (!import.given(count) && !import.given(delay)) return;
    const auto polls = import.number(count), seconds = import.seconds(delay);
    if (!polls || !seconds) return;
    const auto wait = (std::max<std::uint64_t>(*polls, 1) - 1) * *seconds;
    import.set("verify.wait",
               toml(wait == 0 ? std::string("100ms") : fmt::format("{}s", std::min<std::uint64_t>(wait, 60))),
               import.given(delay) ? delay : count);
    import.mark_converted(count);
    import.mark_converted(delay);
    if (wait > 60)
        import.add_remark(import.given(delay) ? delay : count, "a client does not wait longer than a minute");
}

void import_probe_sender(Import& import) {
    constexpr std::string_view setting = "address_verify_sender";
    if (!import.given(setting)) return;
    auto sender = import.value(setting);
    if (sender == "<>") sender.clear();
    if (!sender.empty() && sender.find('@') == sender.npos) sender += "@" + import.value("myorigin");
    import.set("verify.sender", toml(sender), setting);
    if (!sender.empty())
        import.add_remark(setting, "this address must accept mail here: other servers may verify it in turn");
}

// An answer is asked for again before it has expired, or at least then.
void import_verification_refresh(Import& import, std::string_view expire, std::string_view refresh, char unit,
                                 std::string_view key) {
    if (!import.given(expire) && !import.given(refresh)) return;
    const auto lifetime = import.seconds(expire, 'd'), earlier = import.seconds(refresh, unit);
    if (!lifetime || !earlier || *earlier <= *lifetime) return;
    import.set(key, toml(fmt::format("{}s", *lifetime)), import.given(refresh) ? refresh : expire);
    import.add_remark(import.given(expire) ? expire : refresh, "an answer is asked for again when it expires");
}

void import_verification_code(Import& import, std::string_view setting, std::string_view key, std::uint64_t last) {
    if (!import.given(setting)) return;
    const auto code = import.number(setting);
    if (!code) return;
    if (*code >= 400 && *code <= last) return import.set(key, toml(*code), setting);
    import.mark_unsupported(setting, *code < 400 ? "put warn_if_reject in front of the rule to accept such addresses"
                                                 : fmt::format("expected a code from 400 to {}", last));
}

} // namespace

void import_verification(Import& import) {
    import_verification_wait(import);
    import_probe_sender(import);
    import_verification_refresh(import, "address_verify_positive_expire_time", "address_verify_positive_refresh_time",
                                'd', "verify.positive_refresh");
    import_verification_refresh(import, "address_verify_negative_expire_time", "address_verify_negative_refresh_time",
                                'h', "verify.negative_refresh");
    import_verification_code(import, "unverified_recipient_reject_code", "verify.recipient_reject_code", 599);
    import_verification_code(import, "unverified_recipient_defer_code", "verify.recipient_defer_code", 499);
    import_verification_code(import, "unverified_sender_reject_code", "verify.sender_reject_code", 599);
    import_verification_code(import, "unverified_sender_defer_code", "verify.sender_defer_code", 499);
}

} // namespace postrider
