#include "daemons/queue-manager/requests/message_selection.h"
#include "daemons/common/proto/control.h"
#include "daemons/common/runtime/loop.h"
#include "libspool/message/message_reader.h"
#include <fmt/format.h>
#include <string>

namespace queue_manager {

namespace code = proto::control::code;

namespace {

constexpr std::size_t looked_at = 2'000; // deliveries of messages that the queue itself knows, at a time
constexpr std::int64_t effort_of_file = 10;
constexpr std::size_t ranked_at = 20'000; // sorted at a time

// The list of words under `key`; nullopt: something else is there.
std::optional<std::vector<std::string>> words_under(const nlohmann::json& body, const char* key) {
    std::vector<std::string> out;
    const auto found = body.find(key);
    if (found == body.end()) return out;
    if (!found->is_array()) return {};
    for (const auto& word : *found) {
        if (!word.is_string()) return {};
        out.push_back(word.get<std::string>());
    }
    return out;
}

// The message that an id= word names, if there is one such word, without wildcards: no other ones are visited then.
std::optional<std::vector<spool::QueueId>> named_in(const std::vector<std::string>& filter) {
    constexpr std::string_view key = "id=";
    std::vector<spool::QueueId> out;
    for (const auto& word : filter) {
        if (!word.starts_with(key)) continue;
        const auto id = spool::QueueId::parse(std::string_view(word).substr(key.size()));
        if (!id) return {};
        out.push_back(*id);
    }
    if (out.size() != 1) return {}; // several are listed in the order that was asked for
    return out;
}

} // namespace

std::shared_ptr<MessageWalk> MessageSelection::select(const Request& request, const nlohmann::json& body,
                                                      Filter wanted) const {
    const auto ids = words_under(body, "ids"), filter = words_under(body, "filter");
    if (!ids || !filter || (!ids->empty() && !filter->empty())) {
        replies_.refuse(request, "expected either \"ids\" or \"filter\", a list of strings", code::bad_request);
        return nullptr;
    }
    if (!ids->empty()) return select_ids(request, *ids);
    const bool all = filter->empty() && wanted == Filter::optional;
    auto parsed = decide::queue::Filter::parse(all ? std::vector<std::string>{"all"} : *filter);
    if (!parsed) {
        replies_.refuse(request, parsed.error(), code::bad_request);
        return nullptr;
    }
    auto walk = std::make_shared<MessageWalk>();
    walk->filter = *std::move(parsed);
    if (auto named = named_in(*filter)) {
        walk->named = true;
        walk->ids = *std::move(named);
    }
    return walk;
}

std::shared_ptr<MessageWalk> MessageSelection::select_ids(const Request& request,
                                                          const std::vector<std::string>& words) const {
    auto walk = std::make_shared<MessageWalk>();
    walk->named = true;
    std::string unknown;
    for (const auto& word : words) {
        const auto id = spool::QueueId::parse(word);
        if (id && deps_.engine.message(*id, common::Loop::now()))
            walk->ids.push_back(*id);
        else
            unknown += (unknown.empty() ? "" : ", ") + word;
    }
    if (unknown.empty()) return walk;
    const bool loading = deps_.loading();
    replies_.refuse(request,
                    fmt::format("there is no message {}{}: nothing was changed", unknown,
                                loading ? " yet, because the spool is still being read" : ""),
                    loading ? code::loading : code::unknown);
    return nullptr;
}

std::vector<SelectedMessage> MessageSelection::next_named(MessageWalk& walk) const {
    const auto now = common::Loop::now();
    std::vector<SelectedMessage> selected;
    while (walk.at < walk.ids.size() && selected.size() < walk.batch)
        if (auto info = deps_.engine.message(walk.ids[walk.at++], now)) {
            deps_.pauses.set_reasons(*info);
            const bool reads = walk.read_files || walk.filter.needs_file(facts_of(*info, nullptr, now.wall));
            selected.push_back({*std::move(info), {}, reads});
        }
    walk.over = walk.at == walk.ids.size();
    return selected;
}

std::vector<SelectedMessage> MessageSelection::next_filtered(MessageWalk& walk) const {
    const auto now = common::Loop::now();
    std::vector<SelectedMessage> selected;
    for (std::size_t looked = 0; looked < looked_at && selected.size() < walk.batch && !walk.over; ++looked) {
        if (walk.looked == walk.ranks.size()) {
            walk.ranks = deps_.engine.ranked(walk.order, walk.behind, ranked_at);
            walk.looked = 0;
            walk.over = walk.ranks.empty();
            if (walk.over) break;
            walk.behind = walk.ranks.back();
        }
        auto info = deps_.engine.message(spool::QueueId{walk.ranks[walk.looked++].id}, now);
        if (!info) continue; // it has just gone
        looked += info->deliveries.size();
        deps_.pauses.set_reasons(*info);
        const auto facts = facts_of(*info, nullptr, now.wall);
        const bool candidate = !walk.filter.ruled_out(facts);
        const bool read = candidate && (walk.read_files || walk.filter.needs_file(facts));
        walk.effort_left -= read ? effort_of_file : 1;
        if (walk.effort_left <= 0) {
            walk.over = true;
            walk.ended_after = info->id;
        }
        if (candidate) selected.push_back({*std::move(info), {}, read});
    }
    return selected;
}

// On a thread.
void MessageSelection::read(SelectedMessage& each, bool headers) const {
    if (!each.read) return;
    auto reader =
        spool::MessageReader::open(deps_.pool.disk(), each.info.id, each.info.location, spool::ReadLock::none);
    if (!reader) return; // it has just gone
    each.state = reader->state();
    if (!headers) return;
    if (const auto header = reader->read_header(longest_header)) each.header = facts_of(*header);
}

// On a thread: there may be many recipients.
void MessageSelection::look_at(SelectedMessage& each, const MessageWalk& walk, smtp::WallTime now) const {
    read(each, walk.read_headers || walk.filter.needs_header());
    if (each.read && !each.state) return;
    each.matches = walk.filter.matches(facts_of(each.info, each.state ? &*each.state : nullptr, now, each.header));
}

void MessageSelection::step(const std::shared_ptr<MessageWalk>& walk) const {
    auto selected = walk->named ? next_named(*walk) : next_filtered(*walk);
    deps_.pool.post([this, walk, now = common::Loop::now().wall, selected = std::move(selected)]() mutable {
        for (auto& each : selected) look_at(each, *walk, now);
        std::erase_if(selected, [](const SelectedMessage& each) { return !each.matches; });
        deps_.pool.complete([this, walk, selected = std::move(selected)]() mutable {
            if (selected.empty() && !walk->over) return step(walk);
            walk->take(walk, std::move(selected));
        });
    });
}

} // namespace queue_manager
