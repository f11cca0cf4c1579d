#include "daemons/postrider/transport_values.h"
#include "daemons/common/read_file.h"
#include "daemons/common/tables/key_value.h"
#include "daemons/common/tables/specification.h"
#include "daemons/decide/transport_word.h"
#include "libsmtp/text.h"
#include <algorithm>
#include <fmt/format.h>

namespace postrider {

tables::Problems odd_transports(std::string_view text, Mailboxes mailboxes) {
    using Kind = decide::TransportWord::Kind;
    tables::Problems out, passed_over;
    tables::KeyValues entries(text, passed_over);
    while (const auto entry = entries.next()) {
        const auto said = fmt::format("\"{}\"", smtp::printable(entry->value, 100));
        const auto word = decide::TransportWord::parse(entry->value);
        if (!word)
            out.add(entry->line, said + " is no next hop: mail for it waits");
        else if (!word->odd.empty())
            out.add(entry->line, said + ": " + word->odd);
        else if (word->kind == Kind::mailbox && mailboxes == Mailboxes::nowhere)
            out.add(entry->line, said + ": virtual_mailbox.deliver does not say where such mailboxes are: mail for it waits");
    }
    return out;
}

std::vector<tables::Problem> odd_transports_of(const config::Config& config, const std::string& table) {
    const auto& transports = config.addresses.transport.tables;
    if (std::ranges::find(transports, table) == transports.end()) return {};
    const auto where = tables::Specification::parse(table);
    if (!where || where->kind != tables::Kind::text) return {};
    const auto text = common::read_file(where->name);
    if (!text) return {};
    const bool somewhere = !config.addresses.virtual_mailbox.deliver.empty();
    return odd_transports(*text, somewhere ? Mailboxes::somewhere : Mailboxes::nowhere).first();
}

} // namespace postrider
