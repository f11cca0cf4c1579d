#include "daemons/postrider/configuration/transport_lint.h"
#include "daemons/decide/routing/transport_entry.h"
#include "libsmtp/text/text.h"
#include <algorithm>
#include <fmt/format.h>
#include <optional>

namespace postrider {

std::optional<std::string> lint_transport(std::string_view value, MailboxDelivery mailboxes,
                                          const decide::TransportNames& names) {
    using Kind = decide::TransportEntry::Kind;
    const auto word = decide::TransportEntry::parse(value, names);
    if (!word) return " is not a valid next hop: mail for it waits";
    if (!word->warning.empty()) return ": " + word->warning;
    if (word->kind == Kind::mailbox && mailboxes == MailboxDelivery::unconfigured)
        return ": virtual_mailbox.deliver is not set: mail for it waits";
    return std::nullopt;
}

TransportLint lint_transport_table(const config::Addresses& addresses, const decide::TransportNames& names,
                                   const std::vector<config::LookupTable>& known, const std::string& table) {
    const auto& transports = addresses.transport.tables;
    if (std::ranges::find(transports, table) == transports.end()) return {};
    const auto mailboxes =
        addresses.virtual_mailbox.deliver.empty() ? MailboxDelivery::unconfigured : MailboxDelivery::configured;
    tables::Problems problems;
    TransportLint out;
    out.scan = tables::each_value(table, known, [&](const tables::TableValue& each) {
        const auto why = tables::check_value(
            each, [&](const std::string& value) { return lint_transport(value, mailboxes, names); });
        const auto of = each.line > 0 || each.key.empty() ? "" : smtp::printable(each.key, 64) + ": ";
        if (why) problems.add(each.line, fmt::format("{}\"{}\"{}", of, smtp::printable(each.value, 100), *why));
    });
    out.problems = problems.first();
    return out;
}

} // namespace postrider
