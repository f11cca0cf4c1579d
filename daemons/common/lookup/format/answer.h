// The result of looking up a key in a lookup table. A value.
#pragma once
#include <cstdint>
#include <string>

namespace tables {

struct Answer {
    enum class Status : std::uint8_t {
        none,        // the table has no such key
        found,       // `value`
        unavailable, // the table cannot be queried now: what depends on it waits. `why`
        not_yet,     // it must be fetched: Tables::ask()
    };
    Status status = Status::none;
    std::string value = {};   // as the table has it, without blanks around it; never empty where `found`
    std::string why = {};     // which table, what is wrong with it, what to do
    std::string written = {}; // found by a rule that puts parts of the key into its value: the value as written …
    std::uint32_t line = 0;   // … and where
    bool operator==(const Answer&) const = default;

    static Answer found(std::string value) { return {Status::found, std::move(value), {}}; }
    static Answer unavailable(std::string why) { return {Status::unavailable, {}, std::move(why)}; }
    static Answer not_yet() { return {Status::not_yet, {}, {}}; }
};

} // namespace tables
