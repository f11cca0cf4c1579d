// What Postfix takes where main.cf says nothing. Data of Postfix 3.7; knows nothing of us.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace postrider::postfix {

struct Default {
    std::string_view name, value; // as postconf -d has it, not expanded
};

// Sorted by name, one file for a part of the alphabet. Those of a single transport are not there.
std::span<const Default> defaults_a_to_l();
std::span<const Default> defaults_m_to_smtp();
std::span<const Default> defaults_smtpd_to_z();

// Of every transport there is one "TRANSPORT_destination_rate_delay" and the like: the part behind the name.
std::span<const std::string_view> transport_settings();

// Nothing: Postfix has no such setting. Those of the host itself (myhostname …) are "".
std::optional<std::string> default_of(std::string_view name);

// Whose "$" Postfix leaves alone, for it is put in when mail is there.
bool is_never_expanded(std::string_view name);

} // namespace postrider::postfix
