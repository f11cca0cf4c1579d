#include "daemons/fleet/node_list.h"
#include "daemons/fleet/number_text.h"
#include "daemons/fleet/redis/node_name.h"
#include "libsmtp/text/text.h"
#include <algorithm>
#include <fmt/format.h>

namespace fleet {

namespace {

constexpr std::int64_t latest_time = 1'000'000'000'000; // seconds: what is beyond is no time

// "1764361234567 {…}": the store's clock in ms when the node wrote it.
std::optional<std::pair<std::int64_t, NodeFacts>> entry_of(std::string_view text) {
    const auto space = text.find(' ');
    if (space == text.npos) return {};
    const auto time = number_of_digits<std::int64_t>(text.substr(0, space));
    auto facts = NodeFacts::parse(text.substr(space + 1));
    if (!time || *time > latest_time * 1000 || !facts) return {};
    return std::pair(*time, *std::move(facts));
}

} // namespace

bool NodeList::take(const redis::Reply& reply, const std::string& own_instance, smtp::Now sent, smtp::Now now) {
    const auto& parts = reply.elements;
    if (!reply.is_list() || parts.size() < 3 || parts.size() % 2 == 0) return false;
    const auto seconds = number_of_digits<std::int64_t>(parts[0].text),
               micros = number_of_digits<std::int64_t>(parts[1].text);
    if (!seconds || !micros || *seconds > latest_time || *micros >= 1'000'000) return false;
    const smtp::WallTime store_time{std::chrono::seconds(*seconds) + std::chrono::microseconds(*micros)};
    // The store's clock was read between both.
    clock_ = sent.wall + (now.monotonic - sent.monotonic) / 2 - store_time;
    answered_ = now.monotonic;
    const auto former = entry_of(parts[2].text);
    namesake_ = written_ && former && former->second.instance != own_instance;
    written_ = true;
    nodes_.clear();
    for (std::size_t n = 3; n + 1 < parts.size() && nodes_.size() < most_nodes; n += 2) {
        auto entry = entry_of(parts[n + 1].text);
        const auto& name = parts[n].text;
        if (!entry || !is_node_name(name)) continue;
        const smtp::WallTime seen{std::chrono::milliseconds(entry->first)};
        nodes_.push_back(
            {name, std::max<smtp::Duration>(store_time - seen, smtp::Duration::zero()), std::move(entry->second)});
    }
    std::ranges::sort(nodes_, {}, &Node::name);
    return true;
}

bool NodeList::is_silent(const Node& node, smtp::Monotonic now) const {
    return node.name != own_name_ && !node.facts.stopped && age_of(node, now) > silent_after;
}

std::size_t NodeList::count_present(smtp::Monotonic now) const {
    return static_cast<std::size_t>(
        std::ranges::count_if(nodes_, [&](const Node& node) { return !node.facts.stopped && !is_silent(node, now); }));
}

std::string NodeList::silent_names(smtp::Monotonic now) const {
    constexpr std::size_t most_named = 10;
    std::string out;
    std::size_t count = 0;
    for (const auto& node : nodes_)
        if (is_silent(node, now) && ++count <= most_named) out += (out.empty() ? "" : ", ") + node.name;
    return count > most_named ? fmt::format("{} and {} more", out, count - most_named) : out;
}

} // namespace fleet
