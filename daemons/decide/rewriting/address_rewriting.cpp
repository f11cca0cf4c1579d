#include "daemons/decide/rewriting/address_rewriting.h"
#include "libsmtp/text/text.h"
#include <fmt/format.h>
#include <utility>

namespace decide {

RewrittenAddress rewritten_address(std::string_view address, std::string_view whose,
                                   const std::vector<std::string>& tables, const RewritingSettings& settings,
                                   Lookups& lookups) {
    using Status = RewrittenAddress::Status;
    const auto domain = smtp::lowered(AddressParts::of(address).domain);
    const bool names = domain.empty() || (settings.is_local && settings.is_local(domain));
    auto found =
        lookups.in_tables(tables, address_keys(address, settings.delimiter, names ? BareNames::yes : BareNames::no));
    switch (found.answer.status) {
    case TableAnswer::Status::none: return {};
    case TableAnswer::Status::not_yet: return {Status::pending, "", ""};
    case TableAnswer::Status::unreadable: return {Status::failed, "", std::move(found.answer.why)};
    case TableAnswer::Status::found: break;
    }
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
