#include "daemons/decide/rewriting/address_rewriting.h"
#include "libsmtp/text/text.h"
#include <fmt/format.h>
#include <utility>

namespace decide {

// By what a table has answered instead: not_yet, or unreadable.
static RewrittenAddress unanswered(const TableAnswer& answer) {
    using Status = RewrittenAddress::Status;
    if (answer.status == TableAnswer::Status::not_yet) return {Status::pending, "", ""};
    return {Status::failed, "", answer.why};
}

RewrittenAddress rewritten_address(std::string_view address, std::string_view whose,
                                   const std::vector<std::string>& tables, const RewritingSettings& settings,
                                   Lookups& lookups) {
    using Status = RewrittenAddress::Status;
    const auto domain = smtp::lowered(AddressParts::of(address).domain);
    std::expected<bool, TableAnswer> names = domain.empty();
    if (!domain.empty() && settings.is_local) names = settings.is_local(domain, lookups);
    if (!names) return unanswered(names.error());
    auto found = lookups.in_tables(
        tables, address_keys(address, settings.delimiter, bare_names_for(address, *names, settings.origin)));
    if (found.answer.status == TableAnswer::Status::none) return {};
    if (found.answer.status != TableAnswer::Status::found) return unanswered(found.answer);
    const bool dropped = settings.extension == RewritingSettings::Extension::dropped;
    auto to = addresses_of(found.answer.value, address, dropped ? AddressKey::Match::whole : found.match,
                           settings.delimiter, settings.origin, 1);
    if (!to.error.empty())
        return {Status::failed, "",
                fmt::format("{}: invalid value for {}<{}>: {}", found.table, whose, smtp::printable(address, 200),
                            to.error)};
    if (to.addresses.front() == address) return {};
    return {Status::rewritten, std::move(to.addresses.front()), ""};
}

} // namespace decide
