#include "daemons/queue-manager/requests/message_lister.h"
#include "daemons/common/proto/control.h"
#include <algorithm>
#include <cstdint>
#include <fmt/format.h>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace queue_manager {

namespace code = proto::control::code;
using decide::queue::Order;

namespace {

std::optional<Order> order_of(std::string_view word) {
    if (word.empty() || word == "oldest") return Order::oldest;
    if (word == "newest") return Order::newest;
    if (word == "largest") return Order::largest;
    if (word == "next") return Order::next;
    return {};
}

} // namespace

std::optional<decide::queue::Rank> MessageLister::rank_of(std::string_view text, Order order) const {
    const auto id = spool::QueueId::parse(text);
    if (!id) return {};
    if (const auto known = engine_.rank(*id, order)) return known;
    // Ids are ordered, even if the message has gone.
    if (order == Order::oldest) return decide::queue::Rank{0, id->value};
    if (order == Order::newest) return decide::queue::Rank{-static_cast<std::int64_t>(id->value), id->value};
    return {};
}

void MessageLister::send(const Request& request, const nlohmann::json& body) const {
    auto walk = selection_.select(request, body, MessageSelection::Filter::optional);
    if (!walk) return;
    const auto order = order_of(text_field(body, "sort"));
    if (!order)
        return replies_.refuse(request, "\"sort\": expected oldest, newest, largest or next", code::bad_request);
    walk->order = *order;
    if (const auto last = text_field(body, "after_id"); !last.empty()) {
        walk->behind = rank_of(last, *order);
        if (!walk->behind)
            return replies_.refuse(request,
                                   fmt::format("there is no message \"{}\" after which the list could continue", last),
                                   code::unknown);
    }
    if (body.value("count", false)) {
        if (walk->named || body.contains("filter")) return count(request, walk);
        replies_.send(request, {{"count", engine_.counts().messages}});
        return replies_.finish(request);
    }
    walk->read_files = walk->read_headers = true;
    const auto limit = body.value("limit", std::uint64_t{0});
    if (limit != 0) walk->batch = std::min<std::uint64_t>(walk->batch, limit);
    if (const auto effort = body.value("effort", std::int64_t{0}); effort > 0) walk->effort_left = effort;
    const RecipientPart shown{.from = 0, .limit = body.value("recipients", RecipientPart::everyone)};
    walk->take = [this, request, limit, shown, sent = std::uint64_t{0}](const std::shared_ptr<MessageWalk>& self,
                                                                        std::vector<SelectedMessage> selected) mutable {
        for (const auto& each : selected) {
            if (limit != 0 && sent == limit) break;
            ++sent;
            const auto chosen = choose(*each.state, Recipients::unfinished, shown);
            if (!replies_.send(request, json_of(each.info, *each.state, each.header, chosen, Detail::line)))
                return; // hung up
        }
        const bool enough = limit != 0 && sent == limit;
        if (self->over && !enough && self->ended_after)
            replies_.send(request, {{"continue_after", self->ended_after->text()}});
        if (self->over || enough) return replies_.finish(request);
        replies_.when_writable(request, [this, self] { selection_.step(self); });
    };
    selection_.step(walk);
}

void MessageLister::count(const Request& request, const std::shared_ptr<MessageWalk>& walk) const {
    walk->take = [this, request, count = std::uint64_t{0}](const std::shared_ptr<MessageWalk>& self,
                                                           std::vector<SelectedMessage> selected) mutable {
        count += selected.size();
        if (!self->over) return selection_.step(self);
        replies_.send(request, {{"count", count}});
        replies_.finish(request);
    };
    selection_.step(walk);
}

} // namespace queue_manager
