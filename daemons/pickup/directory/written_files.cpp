#include "daemons/pickup/directory/written_files.h"
#include <algorithm>
#include <cstring>
#include <sys/inotify.h>

namespace pickup {

std::uint32_t WrittenFiles::mask() {
    return IN_CREATE | IN_OPEN | IN_MODIFY | IN_CLOSE_WRITE | IN_CLOSE_NOWRITE | IN_MOVED_TO | IN_MOVED_FROM |
           IN_DELETE | IN_ONLYDIR;
}

WrittenFiles::State WrittenFiles::state_of(const std::string& name) const {
    const auto found = states_.find(name);
    return found == states_.end() ? State::unknown : found->second;
}

bool WrittenFiles::take(std::string_view events, std::vector<std::string>& whole) {
    while (events.size() >= sizeof(inotify_event)) {
        inotify_event event{};
        std::memcpy(&event, events.data(), sizeof event);
        events.remove_prefix(sizeof event);
        const auto name = events.substr(0, std::min<std::size_t>(event.len, events.size()));
        events.remove_prefix(name.size());
        if ((event.mask & IN_Q_OVERFLOW) != 0) {
            states_.clear();
            return false;
        }
        std::string file(name.substr(0, name.find('\0')));
        if (file.ends_with(".eml") && apply(event.mask, file) == State::whole) whole.push_back(std::move(file));
    }
    return true;
}

// A new name is of a file that is open only if it is opened next: link(2) does not. It may be opened by a reader, as we
// are one.
WrittenFiles::State WrittenFiles::apply(std::uint32_t mask, const std::string& name) {
    if ((mask & (IN_DELETE | IN_MOVED_FROM)) != 0) {
        forget(name);
        return State::unknown;
    }
    const auto known = state_of(name);
    auto next = State::unknown; // it does not change
    if ((mask & IN_CREATE) != 0) next = State::created;
    if ((mask & IN_OPEN) != 0 && known == State::created) next = State::opened;
    if ((mask & IN_CLOSE_NOWRITE) != 0 && known == State::opened) next = State::created;
    if ((mask & IN_MODIFY) != 0) next = State::being_written;
    if ((mask & (IN_CLOSE_WRITE | IN_MOVED_TO)) != 0) next = State::whole;
    if (next != State::unknown && (states_.size() < most || known != State::unknown))
        states_.insert_or_assign(name, next);
    return next;
}

} // namespace pickup
