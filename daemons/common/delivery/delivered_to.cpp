#include "daemons/common/delivery/delivered_to.h"
#include "libsmtp/message/header.h"
#include "libsmtp/text/text.h"

namespace common {

spool::ReadResult<std::set<std::string>> delivered_to(spool::MessageReader& message) {
    constexpr std::uint64_t most_header = 256 * 1024;
    const auto header = message.read_header(most_header);
    if (!header) return std::unexpected(header.error());
    std::set<std::string> out;
    for (const auto& field : smtp::scan_header(*header).fields)
        if (field.is("Delivered-To")) out.insert(smtp::lowered(field.unfolded()));
    return out;
}

} // namespace common
