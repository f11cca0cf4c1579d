// Which files of a watched directory are whole, from what the kernel reports: one that was renamed in, or closed by its
// writer, is; one that is open for writing is not. Of others, which were there before, their age decides. Pure.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace pickup {

class WrittenFiles {
public:
    // opened: by its writer or a reader; nothing has been written since.
    enum class State : std::uint8_t { unknown, created, opened, being_written, whole };

    // The buffer of a read from inotify(7); `whole` gets the names of files that are whole now. False: events were
    // lost, and what was known is forgotten.
    bool take(std::string_view events, std::vector<std::string>& whole);
    // The events that matter.
    static std::uint32_t mask();

    State state_of(const std::string& name) const;
    void forget(const std::string& name) { states_.erase(name); }

private:
    static constexpr std::size_t most = 100'000; // names
    State apply(std::uint32_t mask, const std::string& name);
    std::map<std::string, State> states_;
};

} // namespace pickup
