#include "daemons/import-postfix/restrictions/dns_lists.h"
#include "daemons/common/config/schema/value_types.h"
#include "daemons/import-postfix/postfix/lists.h"
#include "daemons/import-postfix/restrictions/losses.h"
#include "daemons/import-postfix/restrictions/remaining_listeners.h"
#include <algorithm>
#include <fmt/format.h>

namespace postrider {

bool DnsLists::add(std::string_view text, bool allow, int weight, std::string_view listener, std::string origin,
                   bool rejects_alone) {
    const auto equals = std::min(text.find('='), text.size());
    const auto answers =
        equals < text.size() ? postfix::addresses_of(text.substr(equals + 1)) : std::vector<std::string>{};
    const auto zone = config::domain_name(text.substr(0, equals));
    if (!answers || zone.empty()) return false;
    auto& list = lists_[zone];
    if (list.origin.empty()) list.origin = std::move(origin);
    list.rejects_alone = list.rejects_alone || rejects_alone;
    list.allow = allow, list.weight = std::max(list.weight, weight);
    list.any_answer = list.any_answer || answers->empty();
    for (const auto& answer : *answers)
        if (std::ranges::find(list.answers, answer) == list.answers.end()) list.answers.push_back(answer);
    if (std::ranges::find(list.listeners, listener) == list.listeners.end()) list.listeners.emplace_back(listener);
    return true;
}

void DnsLists::add(const Import::Listener& listener, std::string_view list, std::string_view word,
                   const std::string& argument) {
    const bool permits = word == "permit_dnswl_client";
    std::string remark;
    if (listener.submission)
        remark = "lists are queried only for clients of relay listeners";
    else if (argument.empty() ||
             !add(argument, permits, 1, listener.name, fmt::format("{} in {}", word, list), !permits))
        remark = "name the zone, and the answers to react to, in a [dns_list.\"ZONE\"]";
    else
        return;
    if (permits) return record_lost(import_, listener, list, fmt::format("{} {}: {}", word, argument, remark));
    record_unguarded(import_, listener, list, fmt::format("{} {}", word, argument), remark);
}

void DnsLists::write() {
    for (auto& [zone, list] : lists_) {
        if (!some_are_left(import_, list.listeners)) continue;
        if (list.rejects_alone) report_exempted(zone);
        const auto section = "dns_list." + toml(zone);
        const auto* threshold = import_.draft.find("smtpd.dns_list_threshold");
        import_.draft.set(section + ".weight",
                          list.rejects_alone && threshold ? threshold->value
                                                          : toml(static_cast<std::uint64_t>(list.weight)),
                          list.origin);
        if (list.allow) import_.draft.set(section + ".allow", "true");
        if (!list.answers.empty() && !list.any_answer) import_.draft.set(section + ".answers", toml(list.answers));
        if (list.listeners != relay_listeners(import_)) import_.draft.set(section + ".listeners", toml(list.listeners));
    }
}

// The list of an smtpd behind postscreen: whom postscreen lets through without tests was looked up there.
void DnsLists::report_exempted(const std::string& zone) {
    const auto service = std::ranges::find(import_.services, "postscreen", &postfix::Service::command);
    if (service == import_.services.end()) return;
    if (!import_.draft.find("client_tests.tables") && !import_.draft.find("client_tests.dns_list_allow_threshold"))
        return;
    import_.record_unguarded(*service, fmt::format("reject_rbl_client {}", zone),
                             "clients that client_tests.tables or dns_list_allow_threshold exempt from tests are not "
                             "looked up in this list: an access rule reject_rbl_client in [access] looks up all");
}

} // namespace postrider
