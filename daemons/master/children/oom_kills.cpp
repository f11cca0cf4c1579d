#include "daemons/master/children/oom_kills.h"
#include "daemons/common/runtime/read_file.h"
#include <algorithm>
#include <charconv>
#include <string_view>
#include <unistd.h>

namespace master {

namespace {

// The number in the line "oom_kill N"; nothing: there is no such line.
std::optional<std::uint64_t> kills_in(std::string_view text) {
    constexpr std::string_view key = "oom_kill ";
    while (!text.empty()) {
        const auto line = text.substr(0, text.find('\n'));
        text.remove_prefix(line.size() < text.size() ? line.size() + 1 : line.size());
        if (!line.starts_with(key)) continue;
        std::uint64_t number = 0;
        const auto digits = line.substr(key.size());
        if (std::from_chars(digits.data(), digits.data() + digits.size(), number).ec == std::errc()) return number;
    }
    return {};
}

} // namespace

OomKills::OomKills(std::string root) : root_(std::move(root)) {
    if (const auto text = common::read_file(root_ + "/proc/self/cgroup")) { // "0::/system.slice/postrider.service"
        const std::string_view lines = *text;
        const auto at = lines.starts_with("0::") ? 0 : lines.find("\n0::");
        if (at != lines.npos) {
            const auto line = lines.substr(lines.find("0::", at) + 3);
            events_ = root_ + "/sys/fs/cgroup" + std::string(line.substr(0, line.find('\n'))) + "/memory.events";
            if (access(events_.c_str(), R_OK) != 0) events_.clear();
        }
    }
    answered_ = seen_ = count().value_or(0);
}

std::optional<std::uint64_t> OomKills::count() const {
    const auto text = common::read_file(events_.empty() ? root_ + "/proc/vmstat" : events_);
    return text ? kills_in(*text) : std::nullopt;
}

bool OomKills::one_more() {
    const auto now = count();
    if (!now || *now <= answered_) return false;
    ++answered_;
    return true;
}

void OomKills::forget_earlier() {
    answered_ = std::max(answered_, seen_);
    seen_ = count().value_or(0);
}

} // namespace master
