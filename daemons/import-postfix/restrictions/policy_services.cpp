#include "daemons/import-postfix/restrictions/policy_services.h"
#include "daemons/import-postfix/postfix/lists.h"
#include "daemons/import-postfix/postfix/restriction_lists.h"
#include "daemons/import-postfix/restrictions/losses.h"
#include "daemons/import-postfix/restrictions/remaining_listeners.h"
#include "daemons/import-postfix/transports/next_hops.h"
#include <algorithm>
#include <fmt/format.h>

namespace postrider {

std::optional<std::string> PolicyServices::add(const Import::Listener& listener, const SmtpdList& list,
                                               std::string_view text, bool by_rule) {
    Service out;
    out.by_rule = by_rule;
    out.stage = list.stage, out.origin = fmt::format("check_policy_service in {}", list.name);
    auto words = postfix::words_of(postfix::unbraced(text));
    auto timeout = import_.value("smtpd_policy_service_timeout"),
         action = import_.value("smtpd_policy_service_default_action");
    for (std::size_t i = 1; i < words.size(); ++i) {
        const auto bare = postfix::unbraced(words[i]);
        const auto equals = std::min(bare.find('='), bare.size());
        const auto name = postfix::trimmed(bare.substr(0, equals)),
                   value = equals < bare.size() ? postfix::trimmed(bare.substr(equals + 1)) : "";
        if (name == "timeout")
            timeout = value;
        else if (name == "default_action")
            action = value;
    }
    const auto address = words.empty() ? std::nullopt : service_address(import_, words[0]);
    if (!address) {
        record_unguarded(import_, listener, list.name, fmt::format("check_policy_service {}", text),
                         "write its numeric address in a [policy.NAME]");
        return {};
    }
    out.address = *address;
    out.timeout = fmt::format("{}s", postfix::seconds_of(timeout, 's').value_or(100));
    out.on_failure = action.starts_with("DUNNO") || action.starts_with("dunno") || action.starts_with("permit")
                         ? "accept"
                     : action.starts_with('5') || action.starts_with("REJECT") ? "reject"
                                                                               : "tempfail";
    for (auto& same : services_)
        if (same.address == out.address && same.stage == out.stage && same.by_rule == by_rule) {
            if (std::ranges::find(same.listeners, listener.name) == same.listeners.end())
                same.listeners.push_back(listener.name);
            return same.name;
        }
    out.listeners = {listener.name};
    out.name = fmt::format("postfix_{}", services_.size() + 1);
    services_.push_back(std::move(out));
    import_.mark_converted("smtpd_policy_service_timeout"),
        import_.mark_converted("smtpd_policy_service_default_action");
    return services_.back().name;
}

void PolicyServices::write() {
    for (auto& service : services_) {
        if (!some_are_left(import_, service.listeners)) continue;
        const auto section = "policy." + service.name;
        import_.draft.set(section + ".address", toml(service.address), service.origin);
        import_.draft.set(section + ".stage", toml(service.stage));
        import_.draft.set(section + ".timeout", toml(service.timeout));
        if (!service.on_failure.empty()) import_.draft.set(section + ".on_failure", toml(service.on_failure));
        if (!service.by_rule && service.listeners != relay_listeners(import_))
            import_.draft.set(section + ".listeners", toml(service.listeners));
    }
}

} // namespace postrider
