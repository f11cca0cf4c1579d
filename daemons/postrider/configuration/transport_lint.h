// What the values of a transport table are worth, for whoever looks through it before mail does. Knows the words, not
// who reads the table.
#pragma once
#include "daemons/common/config/config.h"
#include "daemons/common/lookup/tables/values.h"
#include "daemons/common/lookup/format/contents.h"
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace postrider {

enum class Mailboxes : bool { nowhere, somewhere }; // does virtual_mailbox.deliver say?

// A value that makes mail wait, or does not mean what it seems to: why; "" it is good.
std::string odd_transport(std::string_view value, Mailboxes mailboxes);

struct TransportReview {
    std::vector<tables::Problem> odd; // the first of them
    std::optional<tables::Scan> scan; // nothing: it is none of transport.tables
};
// Of all values of a table by its name, as far as they can be listed.
TransportReview odd_transports_of(const config::Config& config, const std::string& table);

} // namespace postrider
