#include "daemons/import-postfix/postfix/defaults.h"
#include <algorithm>
#include <array>

namespace postrider::postfix {

namespace {

constexpr std::array<std::string_view, 17> of_transports = {"delivery_slot_cost",
                                                            "delivery_slot_discount",
                                                            "delivery_slot_loan",
                                                            "destination_concurrency_failed_cohort_limit",
                                                            "destination_concurrency_limit",
                                                            "destination_concurrency_negative_feedback",
                                                            "destination_concurrency_positive_feedback",
                                                            "destination_rate_delay",
                                                            "destination_recipient_limit",
                                                            "extra_recipient_limit",
                                                            "initial_destination_concurrency",
                                                            "minimum_delivery_slots",
                                                            "recipient_limit",
                                                            "recipient_refill_delay",
                                                            "recipient_refill_limit",
                                                            "time_limit",
                                                            "transport_rate_delay"};

constexpr std::string_view left_alone[] = {"command_execution_directory",
                                           "default_rbl_reply",
                                           "execution_directory_expansion_filter",
                                           "forward_path",
                                           "luser_relay",
                                           "mailbox_command",
                                           "smtpd_expansion_filter",
                                           "smtpd_reject_footer",
                                           "command_expansion_filter",
                                           "forward_expansion_filter"};

} // namespace

std::span<const std::string_view> transport_settings() { return of_transports; }

std::optional<std::string> default_of(std::string_view name) {
    for (const auto part : {defaults_a_to_l(), defaults_m_to_smtp(), defaults_smtpd_to_z()}) {
        const auto found = std::ranges::lower_bound(part, name, {}, &Default::name);
        if (found != part.end() && found->name == name) return std::string(found->value);
    }
    for (const auto suffix : of_transports) {
        if (!name.ends_with(suffix) || name.size() < suffix.size() + 2 || name[name.size() - suffix.size() - 1] != '_')
            continue;
        const auto transport = name.substr(0, name.size() - suffix.size() - 1);
        if (transport == "default" || transport.ends_with("_destination")) continue; // a shorter name's
        if (suffix == "initial_destination_concurrency") return "$initial_destination_concurrency";
        return suffix == "time_limit" ? "$command_time_limit" : "$default_" + std::string(suffix);
    }
    return {};
}

bool is_never_expanded(std::string_view name) { return std::ranges::find(left_alone, name) != std::end(left_alone); }

} // namespace postrider::postfix
