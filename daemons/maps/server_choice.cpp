#include "daemons/maps/server_choice.h"
#include <algorithm>
#include <fmt/format.h>

namespace maps {

ServerChoice::ServerChoice(const std::vector<tables::DatabaseServer>& servers, std::chrono::microseconds longest_pause,
                           std::size_t turn)
    : longest_pause_(longest_pause), turn_(turn) {
    for (const auto& server : servers)
        servers_.push_back({server.text(), "", !server.socket.empty() || server.url.starts_with("ldapi:"), {}, {}});
}

std::vector<std::size_t> ServerChoice::order(Time now) {
    std::vector<std::size_t> out;
    const auto add = [&](bool local) {
        for (std::size_t n = 0; n < servers_.size(); ++n) {
            const auto i = (turn_ + n) % servers_.size();
            if (servers_[i].local == local && (servers_[i].why.empty() || servers_[i].until <= now)) out.push_back(i);
        }
    };
    add(true);
    add(false);
    ++turn_;
    return out;
}

bool ServerChoice::failed(std::size_t server, std::string why, Time now) {
    auto& state = servers_[server];
    const bool news = state.why.empty();
    state.why = std::move(why);
    state.pause = std::clamp<std::chrono::microseconds>(state.pause * 2, first_pause, longest_pause_);
    state.until = now + state.pause;
    return news;
}

bool ServerChoice::works(std::size_t server) {
    auto& state = servers_[server];
    const bool news = !state.why.empty();
    state.why.clear();
    state.pause = {};
    return news;
}

// Without the time of the next attempt: the text is the same until something changes.
std::string ServerChoice::problem() const {
    std::string out;
    for (const auto& state : servers_)
        out +=
            fmt::format("{}{}: {}", out.empty() ? "" : "; ", state.name, state.why.empty() ? "not tried" : state.why);
    return out;
}

} // namespace maps
