// Limits of receiving, reports, and the log: what takes more than a conversion of the value.
#include "daemons/import-postfix/conversion/steps.h"
#include "daemons/import-postfix/import/import.h"
#include "daemons/import-postfix/postfix/lists.h"
#include <algorithm>
#include <fmt/format.h>

namespace postrider {

namespace {

void sizes(Import& import) {
    const auto size = import.number("message_size_limit");
    if (!size) return;
    if (*size == 0)
        return import.add_remark("message_size_limit", "0 means no limit in Postfix; smtpd.message_size and "
                                                       "submit.message_size keep their default of 50MiB");
    import.set("smtpd.message_size", toml(*size), "message_size_limit");
    import.set("submit.message_size", toml(*size), "message_size_limit");
}

// Postfix counts in anvil_rate_time_unit; we by the minute.
void rates(Import& import) {
    const auto unit = import.seconds("anvil_rate_time_unit").value_or(60);
    import.mark_converted("anvil_rate_time_unit");
    for (const auto& [name, key] : {std::pair{"smtpd_client_connection_rate_limit", "smtpd.connections_per_minute"},
                                    {"smtpd_client_message_rate_limit", "smtpd.messages_per_minute"},
                                    {"smtpd_client_recipient_rate_limit", "smtpd.recipients_per_minute"}}) {
        import.mark_converted(name);
        if (!import.given(name)) continue;
        const auto number = import.number(name);
        if (number && *number > 0 && unit > 0)
            import.set(key, toml(std::max<std::uint64_t>(std::min<std::uint64_t>(*number, 1'000'000) * 60 / unit, 1)),
                       name);
    }
    if (import.given("smtpd_client_connection_count_limit"))
        if (const auto number = import.number("smtpd_client_connection_count_limit"); number && *number > 0)
            import.set("smtpd.sessions_per_network", toml(*number), "smtpd_client_connection_count_limit");
    import.mark_converted("smtpd_client_connection_count_limit");
}

void reports(Import& import) {
    if (!import.given("notify_classes")) return;
    std::vector<std::string> out;
    for (const auto& word : import.words("notify_classes")) {
        if (word == "bounce")
            out.emplace_back("failed");
        else if (word == "delay")
            out.emplace_back("delayed");
        else if (word == "2bounce")
            out.emplace_back("undeliverable");
        else
            import.add_remark("notify_classes",
                              fmt::format("{}: no notices are sent; watch the log and postrider-metrics(8)", word));
    }
    import.set("bounce.postmaster_copy", toml(out), "notify_classes");
}

// A program gets one recipient at a time here anyway, a server does not.
void single_recipients(Import& import) {
    for (const auto& service : import.services) {
        if (service.type != "unix" || (service.command != "smtp" && service.command != "lmtp")) continue;
        const auto name = service.name + "_destination_recipient_limit";
        if (import.given(name) && name != "smtp_destination_recipient_limit" && import.value(name) == "1")
            import.add_remark(name, "has no counterpart for one transport: queue.recipients_per_transaction applies to "
                                    "all destinations; a server that needs one recipient at a time gets several");
    }
}

} // namespace

void import_queue(Import& import) {
    sizes(import);
    single_recipients(import);
    rates(import);
    reports(import);
    if (const auto name = import.value("syslog_name"); import.given("syslog_name") && !name.empty()) {
        if (import.values.raw("syslog_name").find("$service_name") != std::string::npos)
            import.mark_unsupported("syslog_name", "every line has the service's name after it anyway");
        else
            import.set("log.name", toml(name), "syslog_name");
    }
    if (!import.value("maillog_file").empty()) import.draft.set("log.syslog", "false", "maillog_file");
    if (import.given("smtpd_forbid_bare_newline"))
        import.set("smtpd.bare_newlines",
                   toml(import.value("smtpd_forbid_bare_newline") == "yes" ||
                                import.value("smtpd_forbid_bare_newline") == "reject"
                            ? "reject"
                            : "normalise"),
                   "smtpd_forbid_bare_newline");
    if (import.value("smtpd_banner").starts_with(import.value("myhostname") + " ESMTP"))
        import.mark_converted("smtpd_banner");
    else
        import.mark_unsupported("smtpd_banner", "the greeting is \"220 HOSTNAME ESMTP Postrider\"");
    if (!import.value("bounce_template_file").empty())
        import.mark_unsupported("bounce_template_file",
                                "templates have a different format: rewrite them in a directory, bounce.templates");
    import.mark_converted("bounce_template_file");
}

} // namespace postrider
