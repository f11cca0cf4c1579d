// Keys and sections that had another name before: a configuration that uses the former
// name is rejected, and the message gives the present one. Data; knows no TOML.
#pragma once
#include <span>
#include <string_view>

namespace config {

// "smtpd.reverse_names" or, for a whole section, "copies". Keys of named sections ([listen.<name>]) are written with
// the first word of the section only: "listen.submitters".
struct RenamedKey {
    std::string_view former, present;
};

std::span<const RenamedKey> renamed_keys();

} // namespace config
