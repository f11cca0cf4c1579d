// The setting map: what becomes of each setting of Postfix. The importer works from it, and the list in
// postrider-from-postfix(7) is made from it. Data.
#pragma once
#include <span>
#include <string>
#include <string_view>

namespace postrider {

enum class Conversion {
    text,     // as it stands
    number,   // a whole number
    size,     // bytes; Postfix's 0 (no limit) where ours has none is left out
    seconds,  // a time, in seconds where it has no unit
    hours,    // the same in hours
    days,     // the same in days
    yes_no,   // yes, no
    no_yes,   // turned over
    tables,   // a list of lookup tables
    custom,   // by code of its own in the importer: `note` says what it does
    obsolete, // nothing to carry over: `note` says why nothing is missing
    none,     // no counterpart: `note` says what to do instead
};

// What it means if a setting is not carried over. Each row has one: a test requires it.
enum class IfLost {
    unclassified,
    harmless,  // mail is handled differently, but nothing is protected less
    unguarded, // a restriction, filter, limit or demand is gone: the operator decides, in [undecided]
};

struct SettingMapping {
    std::string_view name; // Postfix's; "*" in it stands for any letters
    std::string_view key;  // ours, "queue.expiry"; "" none. Several: "a.b, c.d" (Conversion::custom only)
    Conversion conversion = Conversion::none;
    IfLost if_lost = IfLost::unclassified;
    std::string_view note = {}; // a sentence or two for the manual, and for comments if obsolete or none
    bool also_if_unset = false; // carried over with Postfix's default where main.cf says nothing: ours is another
    std::string_view equivalent =
        {}; // Conversion::none: values made of these words only are what Postrider does anyway

    bool is_equivalent(std::string_view value) const;
};

// In the order of the manual, by subject.
struct Subject {
    std::string_view title;
    std::span<const SettingMapping> rows;
};
std::span<const Subject> setting_map();
// The row of a name: one without a star comes before those with one, and the first of these counts. Null: Postfix 3.7
// has no such setting, nor has any of its transports.
const SettingMapping* mapping_of(std::string_view name);

// The list in the manual, in mdoc.
std::string setting_map_manual();

} // namespace postrider
