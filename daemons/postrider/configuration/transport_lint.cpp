#include "daemons/postrider/configuration/transport_lint.h"
#include "daemons/decide/routing/transport_entry.h"
#include "libsmtp/text/text.h"
#include <algorithm>
#include <fmt/format.h>

namespace postrider {

std::string odd_transport(std::string_view value, Mailboxes mailboxes) {
    using Kind = decide::TransportWord::Kind;
    const auto word = decide::TransportWord::parse(value);
    if (!word) return " is no next hop: mail for it waits";
    if (!word->odd.empty()) return ": " + word->odd;
    if (word->kind == Kind::mailbox && mailboxes == Mailboxes::nowhere)
        return ": virtual_mailbox.deliver does not say where such mailboxes are: mail for it waits";
    return "";
}

TransportReview odd_transports_of(const config::Config& config, const std::string& table) {
    const auto& transports = config.addresses.transport.tables;
    if (std::ranges::find(transports, table) == transports.end()) return {};
    const auto mailboxes = config.addresses.virtual_mailbox.deliver.empty() ? Mailboxes::nowhere : Mailboxes::somewhere;
    tables::Problems odd;
    TransportReview out;
    out.scan = tables::each_value(table, config.tables, [&](const tables::TableValue& each) {
        const auto why = tables::judged(each, [&](const std::string& value) { return odd_transport(value, mailboxes); });
        const auto of = each.line > 0 || each.key.empty() ? "" : smtp::printable(each.key, 64) + ": ";
        if (!why.empty()) odd.add(each.line, fmt::format("{}\"{}\"{}", of, smtp::printable(each.value, 100), why));
    });
    out.odd = odd.first();
    return out;
}

} // namespace postrider
