// Checks the values of a transport table before mail depends on them. Knows the syntax of values, not how tables are
// opened.
#pragma once
#include "daemons/common/config/sections/recipients/addresses.h"
#include "daemons/common/config/sections/recipients/lookup.h"
#include "daemons/common/lookup/format/contents.h"
#include "daemons/common/lookup/tables/values.h"
#include "daemons/decide/routing/transport_entry.h"
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace postrider {

enum class MailboxDelivery : bool { unconfigured, configured }; // virtual_mailbox.deliver

// What is wrong with a value that makes mail wait or does not mean what it seems to.
std::optional<std::string> lint_transport(std::string_view value, MailboxDelivery mailboxes,
                                          const decide::TransportNames& names);

struct TransportLint {
    std::vector<tables::Problem> problems; // the first of them
    std::optional<tables::Scan> scan;      // nothing: it is none of transport.tables
};
// Of all values of a table by its name, as far as they can be listed.
TransportLint lint_transport_table(const config::Addresses& addresses, const decide::TransportNames& names,
                                   const std::vector<config::LookupTable>& known, const std::string& table);

} // namespace postrider
