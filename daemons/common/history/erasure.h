// What is erased of the journal for the sake of one address: every event that has it in any of its texts, in the clear
// or hashed. A tombstone takes the event's place and keeps its number, node, time, type and queue id, so that numbers
// have no gap and the books still balance. Pure; knows lines, not files.
#pragma once
#include "daemons/common/history/address_hash.h"
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace history {

// It is a tombstone.
bool is_erased(const nlohmann::json& event);
// What is left of an event, as a line without its end.
std::string tombstone_of(const nlohmann::json& event);

class Erasure {
public:
    // `hash`: null if addresses were never hashed in this journal.
    Erasure(std::string_view address, const AddressHash* hash);

    // Does any text of it have the address? As a whole: ann@example.org is not in joann@example.org.
    bool concerns(const nlohmann::json& value) const;
    bool is_in(std::string_view text) const;
    // Whole lines, with tombstones in their places; `erased` counts these. Nothing: no line is concerned.
    std::optional<std::string> erased_from(std::string_view lines, std::uint64_t& erased) const;

private:
    bool may_concern(std::string_view lower_case) const;

    std::vector<std::string> forms_;   // lower case
    std::vector<std::string> needles_; // a line that has a form has one of these, however it is encoded
};

} // namespace history
