// How tests read a configuration: on a machine of their own, and to the letter of what is said of it.
#pragma once
#include "daemons/common/config/config.h"
#include "daemons/common/config/load.h"
#include <doctest/doctest.h>
#include <string>
#include <string_view>

namespace config::testing {

inline const System machine{"Mail.Example.com", "alice", 4};

inline Config good(std::string_view text, std::string_view file = "/etc/p/postrider.toml") {
    auto read = parse(text, file, machine);
    if (!read)
        for (const auto& problem : read.error()) MESSAGE(problem.to_string());
    REQUIRE(read);
    return std::move(*read);
}

// All problems, one to a line.
inline std::string bad(std::string_view text) {
    const auto read = parse(text, "f.toml", machine);
    if (read) return "accepted";
    std::string out;
    for (const auto& problem : read.error()) out += (out.empty() ? "" : "\n") + problem.to_string();
    return out;
}

} // namespace config::testing
