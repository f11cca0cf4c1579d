#include "daemons/smtp-client/session/tls_needs.h"
#include "daemons/common/text/idn.h"
#include "daemons/decide/routing/route_name.h"
#include <algorithm>
#include <optional>
#include <string>

namespace smtp_client {

using decide::TlsLevel;

namespace {

std::string domain_of(std::string_view address) { return idn::ascii_domain(address.substr(address.rfind('@') + 1)); }

TlsLevel level_of_domain(const ClientContext& context, std::string_view domain, std::string_view rule) {
    const auto otherwise = context.settings.tls;
    return context.tls_routes ? decide::tls_level(*context.tls_routes, domain, rule, otherwise) : otherwise;
}

// A route that a table named shows its own certificates; others, those of the domain's route.
const std::shared_ptr<const tls::Context>& tls_of_domain(const ClientContext& context, std::string_view domain,
                                                         std::string_view route) {
    if (context.tls_of_routes.contains(route)) return context.tls_of(route);
    const auto* rule =
        context.tls_of_routes.empty() || !context.tls_routes ? nullptr : context.tls_routes->find(domain);
    return rule ? context.tls_of(rule->pattern) : context.tls;
}

} // namespace

TlsNeeds tls_needs_by_default(const ClientContext& context) {
    TlsNeeds needs{.level = context.settings.tls, .domain = {}};
    needs.tls = context.tls;
    return needs;
}

TlsNeeds tls_needs_of_route(const ClientContext& context, std::string_view rule) {
    auto needs = tls_needs_by_default(context);
    if (context.tls_routes) needs.level = context.tls_routes->tls_level_of(rule, needs.level);
    needs.tls = context.tls_of(rule);
    return needs;
}

TlsNeeds tls_needs_of(const ClientContext& context, const smtp::Transaction& transaction) {
    auto needs = tls_needs_by_default(context);
    std::optional<TlsLevel> strictest;
    for (const auto& recipient : transaction.recipients) {
        needs.domain = domain_of(recipient.address);
        const auto& shown = tls_of_domain(context, needs.domain, {});
        needs.tls =
            !strictest || shown == needs.tls ? shown : context.tls; // no route's identity for another route's mail
        strictest = std::max(strictest.value_or(TlsLevel::none), level_of_domain(context, needs.domain, {}));
    }
    needs.level = strictest.value_or(needs.level);
    return needs;
}

// The recipients are of one domain, unless an operator rerouted the message: then the strictest counts.
TlsNeeds tls_needs_of(const ClientContext& context, const spool::MessageReader& message,
                      const std::vector<std::uint32_t>& numbers, std::string_view rule) {
    const auto& recipients = message.state().recipients;
    const auto otherwise = context.settings.tls;
    std::optional<TlsLevel> strictest;
    auto needs = tls_needs_by_default(context);
    for (const auto number : numbers) {
        if (number >= recipients.size()) continue;
        const auto domain = domain_of(recipients[number].address);
        const auto level = level_of_domain(context, domain, rule);
        const auto& shown = tls_of_domain(context, domain, rule);
        if (strictest && shown != needs.tls) needs.tls = context.tls; // no route's identity for another route's mail
        if (!strictest) {
            needs.domain = domain;
            needs.tls = shown;
            const auto& reporter = context.tls_reports_from;
            needs.of_report = !reporter.empty() && message.state().reverse_path_of(recipients[number]) == reporter;
        }
        strictest = std::max(strictest.value_or(level), level);
        if (!context.tls_routes) break;
    }
    const auto& envelope = message.envelope();
    const auto wish = envelope.require_tls    ? decide::TlsRequirement::required
                      : envelope.tls_optional ? decide::TlsRequirement::optional
                                              : decide::TlsRequirement::none;
    needs.level = level_for(wish, strictest.value_or(otherwise));
    needs.by_message = needs.level > strictest.value_or(otherwise);
    return needs;
}

} // namespace smtp_client
