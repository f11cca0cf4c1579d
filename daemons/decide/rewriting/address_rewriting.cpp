#include "daemons/decide/rewriting/address_rewriting.h"
#include "libsmtp/text/text.h"
#include <fmt/format.h>
#include <utility>

namespace decide {

// By what a table has answered instead: not_yet, or unreadable.
static RewrittenAddress unanswered(const TableAnswer& answer) {
    using Status = RewrittenAddress::Status;
    if (answer.status == TableAnswer::Status::not_yet) return {.status = Status::pending};
    return {.status = Status::failed, .why = answer.why};
}

// As Postfix has it: more are a mistake in the tables, and the last result counts.
static constexpr unsigned most_rounds = 10;

static RewrittenAddress rewritten_once(std::string_view address, std::string_view whose,
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
        return {.status = Status::failed,
                .why = fmt::format("{}: invalid value for {}<{}>: {}", found.table, whose,
                                   smtp::printable(address, 200), to.error),
                .invalid = true};
    const bool stays = to.addresses.front() == address;
    return {.status = stays ? Status::unchanged : Status::rewritten,
            .address = stays ? std::string() : std::move(to.addresses.front()),
            .listed = true};
}

RewrittenAddress rewritten_address(std::string_view address, std::string_view whose,
                                   const std::vector<std::string>& tables, const RewritingSettings& settings,
                                   Lookups& lookups, const std::vector<std::string>& then) {
    using Status = RewrittenAddress::Status;
    RewrittenAddress out;
    std::string current(address);
    for (const auto* stage : {&tables, &then}) {
        for (unsigned round = 1; !stage->empty(); ++round) {
            auto found = rewritten_once(current, whose, *stage, settings, lookups);
            if (found.status == Status::pending || found.status == Status::failed) return found;
            out.listed = out.listed || found.listed;
            if (found.status == Status::unchanged) break;
            const bool same = smtp::same_ignoring_case(current, found.address);
            current = std::move(found.address);
            if (same || !settings.repeated) break;
            if (round < most_rounds) continue;
            out.warning = fmt::format("{}: {}<{}> is replaced again and again: the result number {} is used",
                                      stage->front(), whose, smtp::printable(address, 200), most_rounds);
            break;
        }
    }
    if (current == address) return out;
    out.status = Status::rewritten;
    out.address = std::move(current);
    return out;
}

} // namespace decide
