// Names in tables: slots found by name, and small numbers instead of names that many objects have.
#pragma once
#include "daemons/decide/queue/containers/slab.h"
#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace decide::queue {

struct NameHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view name) const { return std::hash<std::string_view>{}(name); }
};
using SlotsByName = std::unordered_map<std::string, Slot, NameHash, std::equal_to<>>;

// Names as they are met. Number 0 is the empty name, and of those that come when the numbers are used up.
class NumberedNames {
public:
    std::uint16_t number_of(std::string_view name) {
        const auto known = std::ranges::find(names_, name);
        if (known != names_.end()) return static_cast<std::uint16_t>(known - names_.begin());
        if (names_.size() > most) return 0;
        names_.emplace_back(name);
        return static_cast<std::uint16_t>(names_.size() - 1);
    }
    bool contains(std::string_view name) const { return std::ranges::find(names_, name) != names_.end(); }
    const std::string& operator[](std::uint16_t number) const { return names_[number]; }
    const std::vector<std::string>& all() const { return names_; }

private:
    static constexpr std::size_t most = 0xffff;
    std::vector<std::string> names_ = {""};
};

} // namespace decide::queue
