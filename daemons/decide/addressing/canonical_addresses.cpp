#include "daemons/decide/addressing/canonical_addresses.h"
#include <utility>

namespace decide {

static RewritingSettings rewriting_of(const ExpansionSettings& settings) {
    return {.origin = settings.origin,
            .delimiter = settings.delimiter,
            .is_local = [&settings](std::string_view domain, Lookups& asked) -> LocalAnswer {
                auto where = settings.class_of(domain, asked);
                if (!where) return std::unexpected(std::move(where.error()));
                return *where == AddressClass::local;
            },
            .repeated = settings.canonical_repeated};
}

RewrittenAddress canonical_sender(std::string_view address, const ExpansionSettings& settings, Lookups& lookups) {
    const auto& tables = settings.tables;
    return rewritten_address(address, "the sender ", tables.sender_canonical, rewriting_of(settings), lookups,
                             tables.common_sender_canonical);
}

RewrittenAddress canonical_recipient(std::string_view address, const ExpansionSettings& settings, Lookups& lookups) {
    const auto& tables = settings.tables;
    return rewritten_address(address, "", tables.recipient_canonical, rewriting_of(settings), lookups,
                             tables.common_recipient_canonical);
}

} // namespace decide
