// What is wrong with a configuration, and where.
#pragma once
#include <cstdint>
#include <string>

namespace config {

struct Problem {
    std::string file;
    std::uint32_t line = 0, column = 0; // from 1; 0: the file as a whole
    std::string message;                // "unknown key smtpd.worker: did you mean workers?"
    std::string to_string() const;      // "postrider.toml:3:1: unknown key …"
    bool operator==(const Problem&) const = default;
};

} // namespace config
