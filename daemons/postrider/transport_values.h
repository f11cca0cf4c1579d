// What the values of a transport table are worth, for whoever looks through it before mail does. Knows the words, not
// who reads the table.
#pragma once
#include "daemons/common/config/config.h"
#include "daemons/common/tables/contents.h"
#include <string>
#include <string_view>
#include <vector>

namespace postrider {

enum class Mailboxes : bool { nowhere, somewhere }; // does virtual_mailbox.deliver say?

// Of the text of a table with "key value" in its lines: values that make mail wait, and those that do not mean what
// they seem to. Lines that are no entries are the table's own affair.
tables::Problems odd_transports(std::string_view text, Mailboxes mailboxes);

// The same of a table by its name, if it is a text that can be read and one of transport.tables; the first of them.
std::vector<tables::Problem> odd_transports_of(const config::Config& config, const std::string& table);

} // namespace postrider
