// The table of keys: the name of each, where its value is stored, which values are valid, and what it
// means. Reading a file, the annotated sample and the manual page are all derived from it. Knows no TOML.
#pragma once
#include "daemons/common/config/schema/quantities.h"
#include "daemons/decide/routing/routing.h"
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace config {

// What is wrong with a text, for the message to the administrator; nullopt: it was taken.
using Refusal = std::optional<std::string>;

// Where a value goes.
struct TextKey {
    std::function<Refusal(std::string_view)> set;
    std::function<std::string()> show;
};
struct ListKey {
    std::function<void()> clear; // before the first one
    std::function<Refusal(std::string_view)> add;
    std::function<std::vector<std::string>()> show;
    bool of_tables = false;               // its texts name lookup tables
    std::function<Refusal()> finish = {}; // after the last one, about the list as a whole; null: nothing to check
};
struct IntKey {
    std::uint32_t* value;
    std::uint32_t min = 0, max = 0;
};
struct SizeKey {
    std::uint64_t* value;
    std::uint64_t min = 0, max = 0;
};
struct DurationKey {
    Duration* value;
    Duration min{}, max{};
};
struct BoolKey {
    bool* value;
};
struct FractionKey {
    double* value; // 0 to 1
};
struct IntListKey { // as many as there are, in order
    std::span<std::uint32_t> values;
    std::uint32_t min = 0, max = 0;
};
struct NextHopsKey {
    std::vector<std::vector<decide::NextHop>>* value;
};

struct Key {
    std::string_view name;
    std::variant<TextKey, ListKey, IntKey, SizeKey, DurationKey, BoolKey, FractionKey, IntListKey, NextHopsKey> target;
    std::string_view meaning; // plain sentences, for the sample and the manual
    std::string_view example; // shown instead of the default where that depends on the machine; TOML
    bool guarded = false;     // its value may be a secret, or contain one: shown to administrators only
};

struct Section {
    std::string name; // "smtpd"; "listen.<name>" and "route.\"<domain>\"" for the named ones
    std::string_view meaning;
    std::vector<Key> keys;
    // Of a section in which every key is a problem: its text for the administrator. Null: unknown keys are.
    std::function<std::string(std::string_view key, std::string_view text)> problem_of = {};
};

} // namespace config
