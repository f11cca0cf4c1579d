#include "daemons/common/history/books.h"
#include "daemons/common/history/erasure.h"
#include "daemons/common/history/history_query.h"
#include "daemons/common/history/message_history.h"
#include "libsmtp/text/date.h"
#include "libspool/store/queue_id_source.h"
#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <nlohmann/json.hpp>
#include <numeric>
#include <ranges>

namespace history {

using nlohmann::json;
using spool::QueueId;

namespace {

constexpr std::string_view of_a_message = "message.";
constexpr std::array<std::string_view, 6> ends = {"delivered",  "failed",    "expired",
                                                  "suppressed", "discarded", "expanded"};
constexpr std::size_t seconds_of_time = 19; // characters of an RFC 3339 time down to the second

std::size_t hash_of(std::string_view recipient, std::string_view end) {
    return std::hash<std::string_view>{}(recipient) * 31 + std::hash<std::string_view>{}(end);
}

} // namespace

void Books::imbalance(QueueId id, std::string why) {
    ++totals_.imbalances;
    if (imbalances_.size() < most_kept) imbalances_.push_back({id.text(), std::move(why)});
}

// Accepted before the journal begins, or in that second.
bool Books::is_older(QueueId id) const {
    return smtp::rfc3339_date(spool::time_of(id)).substr(0, seconds_of_time) <= since_.substr(0, seconds_of_time);
}

void Books::accepted(QueueId id, const json& event) {
    const auto [message, is_new] = open_.try_emplace(id);
    totals_.accepted += is_new; // it may be recorded again after a crash
    message->second.acceptance_known = true;
    message->second.recipients = number_of(event, "recipients_total"); // none, if it is erased
    message->second.erased = message->second.erased || is_erased(event);
}

void Books::ended(QueueId id, std::size_t kind, const json& event) {
    const auto message = open_.find(id);
    if (message == open_.end() && !is_older(id)) return; // finished() says that its acceptance is missing
    auto& open = message == open_.end() ? open_[id] : message->second;
    const auto recipient = string_of(event, "recipient");
    ++open.events[kind];
    open.erased = open.erased || is_erased(event);
    open.distinct[kind] += open.ended.insert(hash_of(recipient, ends[kind])).second;
    open.ended.insert(hash_of(recipient, {}));
}

void Books::finished(QueueId id, const json& event) {
    const auto message = open_.extract(id);
    ++totals_.finished;
    if (message.empty() || !message.mapped().acceptance_known) {
        if (is_older(id)) {
            ++totals_.older;
            return;
        }
        return imbalance(id, "finished, and its acceptance is not recorded, or it was finished before");
    }
    const auto& open = message.mapped();
    const auto found = event.find("counts");
    const auto counts = found != event.end() && found->is_object() ? *found : json::object();
    std::uint64_t all = 0;
    for (const auto& each : counts.items()) all += number_of(counts, each.key());
    for (std::size_t kind = 0; kind < kinds; ++kind) {
        const auto stated = number_of(counts, ends[kind]);
        if (stated < open.distinct[kind] || stated > open.events[kind])
            imbalance(id, fmt::format("finished with {} {}, and {} such event{} recorded", stated, ends[kind],
                                      open.events[kind], open.events[kind] == 1 ? " is" : "s are"));
    }
    if (all < open.recipients)
        imbalance(id, fmt::format("finished with {} of {} recipients accounted for", all, open.recipients));
}

void Books::add(const json& event) {
    if (since_.empty()) since_ = string_of(event, "time");
    const auto whole_type = string_of(event, "type");
    totals_.gaps += whole_type == "journal.gap";
    if (!whole_type.starts_with(of_a_message)) return;
    const auto id = QueueId::parse(string_of(event, "id"));
    if (!id) return;
    const auto type = std::string_view(whole_type).substr(of_a_message.size());
    if (type == "accepted") return accepted(*id, event);
    if (type == "finished") return finished(*id, event);
    if (type == "removed" || type == "transferred_out") {
        if (type == "transferred_out" && !moved_.insert(*id).second) return; // recorded again after a crash
        ++totals_.removed;
        if (open_.erase(*id) > 0) return;
        if (is_older(*id))
            ++totals_.older;
        else
            imbalance(*id, "removed, and its acceptance is not recorded, or it was finished before");
        return;
    }
    if (type == "transferred_in") { // its earlier events are in the other node's journal
        auto& open = open_[*id];
        open.erased = true;
        const auto counts = event.find("counts");
        for (std::size_t kind = 0; kind < kinds && counts != event.end() && open.distinct[kind] == 0; ++kind)
            open.distinct[kind] = open.events[kind] = number_of(*counts, ends[kind]);
        return;
    }
    if (type == "restored") { // its earlier events are not compared
        if (open_.try_emplace(*id).second) --totals_.removed;
        moved_.erase(*id);
        return;
    }
    const auto* end = std::ranges::find(ends, type);
    if (end != ends.end()) ended(*id, static_cast<std::size_t>(end - ends.begin()), event);
}

std::vector<QueueId> Books::open() const {
    std::vector<QueueId> ids;
    for (const auto& id : open_ | std::views::keys) ids.push_back(id);
    std::ranges::sort(ids);
    return ids;
}

bool Books::has_ended(const Open& open, std::string_view recipient) const {
    return open.erased || open.ended.contains(hash_of(recipient, {})) ||
           (recorded_as_ && open.ended.contains(hash_of(recorded_as_(recipient), {})));
}

std::string Books::compare(QueueId id, const spool::MessageState& file) const {
    const auto message = open_.find(id);
    if (message == open_.end())
        return is_older(id) ? "" : "in the spool, and its acceptance is not recorded, or it was finished before";
    const auto& open = message->second;
    if (!open.acceptance_known) return {};
    using spool::Status;
    for (const auto& recipient : file.recipients)
        if (recipient.status != Status::pending && recipient.status != Status::removed &&
            !has_ended(open, recipient.address))
            return fmt::format("in the spool, where <{}> has come to its end, which is not recorded",
                               recipient.address);
    return {};
}

} // namespace history
