// The table of correspondences: what becomes of each setting of Postfix. The importer works out of it, and the list in
// postrider-from-postfix(7) is made of it. Data.
#pragma once
#include <span>
#include <string>
#include <string_view>

namespace postrider {

enum class Way {
    text,     // as it stands
    number,   // a whole number
    size,     // bytes; Postfix's 0 (no limit) where ours has none is left out
    seconds,  // a time, in seconds where it has no unit
    hours,    // the same in hours
    days,     // the same in days
    yes_no,   // yes, no
    no_yes,   // turned over
    tables,   // a list of lookup tables
    part,     // by a part of the importer of its own: `note` says what it does
    moot,     // nothing to carry over: `note` says why nothing is missing
    none,     // no counterpart: `note` says what to do instead
};

struct Correspondence {
    std::string_view name; // Postfix's; "*" in it stands for any letters
    std::string_view key;  // ours, "queue.expiry"; "" none. Several: "a.b, c.d" (Way::part only)
    Way way = Way::none;
    std::string_view note = {};  // a sentence or two for the manual, and for comments where the way is moot or none
    bool unset_too = false;      // carried over with Postfix's default where main.cf says nothing: ours is another
    std::string_view usual = {}; // Way::none: values made of these words alone are what Postrider does anyway

    bool is_usual(std::string_view value) const;
};

// In the order of the manual, by subject.
struct Subject {
    std::string_view title;
    std::span<const Correspondence> rows;
};
std::span<const Subject> correspondences();
// The row of a name: one without a star goes before those with one, and the first of these counts. Null: Postfix 3.7
// has no such setting, nor has any of its transports.
const Correspondence* correspondence_of(std::string_view name);

// The list in the manual, in mdoc.
std::string correspondences_manual();

} // namespace postrider
