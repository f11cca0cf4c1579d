// Which numbers are missing in a journal, and which of them an event names as missing. Pure.
#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace postrider {

struct NumberRange {
    std::uint64_t from = 0, to = 0; // both belong to it
    bool operator==(const NumberRange&) const = default;
};

class JournalGaps {
public:
    // Ranges beyond this are counted only.
    static constexpr std::size_t most_ranges = 10'000;

    // In the order of the journal. The first event may have any number: what was before it has been removed.
    void add(std::uint64_t number);
    // A journal.gap event.
    void add_named(const nlohmann::json& event);

    std::uint64_t first() const { return first_; }
    std::uint64_t last() const { return last_; }
    std::uint64_t events() const { return events_; }
    // Missing numbers that no event names.
    std::vector<NumberRange> unnamed() const;
    std::uint64_t named() const { return named_.size(); } // how many ranges
    std::uint64_t not_kept() const { return not_kept_; }

private:
    std::uint64_t first_ = 0, last_ = 0, events_ = 0, not_kept_ = 0;
    std::vector<NumberRange> missing_, named_;
};

} // namespace postrider
