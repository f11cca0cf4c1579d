// Postfix's defaults for what main.cf does not set. Data of Postfix 3.7; knows nothing about Postrider.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace postrider::postfix {

struct Default {
    std::string_view name, value; // as postconf -d has it, not expanded
};

// Sorted by name, one file for a part of the alphabet. Those of a single transport are not included.
std::span<const Default> defaults_a_to_l();
std::span<const Default> defaults_m_to_smtp();
std::span<const Default> defaults_smtpd_to_z();

// Every transport has its own "TRANSPORT_destination_rate_delay" and the like: the part after the name.
std::span<const std::string_view> transport_settings();

// Nothing: Postfix has no such setting. Those of the host itself (myhostname …) are "".
std::optional<std::string> default_of(std::string_view name);

// Settings whose "$" Postfix leaves alone, because it is substituted when mail arrives.
bool is_never_expanded(std::string_view name);

} // namespace postrider::postfix
