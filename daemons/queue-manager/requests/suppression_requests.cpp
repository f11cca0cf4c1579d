#include "daemons/queue-manager/requests/suppression_requests.h"
#include "daemons/common/proto/control.h"
#include "daemons/common/runtime/loop.h"
#include "daemons/decide/message/suppression_filter.h"
#include "daemons/queue-manager/control/control_json.h"
#include "daemons/queue-manager/engine_driver/suppression_checks.h"
#include "libsmtp/text/text.h"
#include <algorithm>
#include <expected>
#include <fmt/format.h>
#include <optional>
#include <utility>
#include <vector>

namespace queue_manager {

namespace code = proto::control::code;
using decide::Suppression;
using nlohmann::json;

namespace {

constexpr std::size_t walked_at_once = 500, most_at_once = 1000;

json entry_json(const Suppression& entry) {
    return {{"recipient", entry.recipient},
            {"sender", entry.scope.sender},
            {"pool", entry.scope.pool},
            {"lane", entry.scope.lane},
            {"reason", entry.reason},
            {"reply", entry.reply},
            {"added_by", entry.who},
            {"automatic", entry.automatic},
            {"added", seconds_of(entry.added)},
            {"expires", seconds_of(entry.expires)}};
}

// The entry of that name need not exist.
std::string key_of(const json& name) {
    return decide::suppression_key(name.value("recipient", ""),
                                   {name.value("sender", ""), name.value("pool", ""), name.value("lane", "")});
}

std::string one_line(const json& from, const char* key) {
    return smtp::printable(from.value(key, ""), common::SuppressionList::longest_text);
}

// The error says which entry is wrong.
std::expected<Suppressions::Entries, std::string> entries_of(const json& body, smtp::WallTime now) {
    Suppressions::Entries out;
    const auto list = body.find("entries");
    if (list == body.end() || !list->is_array() || list->empty() || list->size() > most_at_once)
        return std::unexpected(fmt::format("\"entries\" must be a list of 1 to {}", most_at_once));
    for (const auto& each : *list) {
        auto recipient = decide::suppression_recipient(each.value("recipient", ""), common::name_folding());
        if (!recipient) return std::unexpected(recipient.error());
        auto scope = decide::suppression_scope(
            {each.value("sender", ""), each.value("pool", ""), each.value("lane", "")}, common::name_folding());
        if (!scope) return std::unexpected(scope.error());
        if (decide::suppression_key(*recipient, *scope).size() > store::longest_key)
            return std::unexpected(fmt::format("\"{}\" is too long", *recipient));
        const std::int64_t expires = each.value("expires", std::int64_t{0});
        out.push_back({.recipient = std::move(*recipient),
                       .scope = *std::move(scope),
                       .reason = one_line(each, "reason"),
                       .reply = one_line(each, "reply"),
                       .who = "",
                       .automatic = false,
                       .added = now,
                       .expires = expires > 0 ? smtp::WallTime(std::chrono::seconds(expires)) : smtp::WallTime{}});
    }
    return out;
}

} // namespace

void SuppressionRequests::change(const Request& request, const json& body, Suppressions::Operation doing) {
    Suppressions::Order order;
    order.doing = doing;
    try {
        order.dry_run = body.value("dry_run", false);
        auto entries = entries_of(body, common::Loop::now().wall);
        if (!entries) return replies_.refuse(request, entries.error(), code::bad_request);
        order.entries = std::move(*entries);
    } catch (const json::exception&) {
        return replies_.refuse(request, "a field of the request has the wrong type", code::bad_request);
    }
    if (const auto own = std::ranges::find_if(
            order.entries, [&](const auto& each) { return is_own_postmaster(each.recipient, deps_.config); });
        own != order.entries.end() && doing == Suppressions::Operation::put)
        return replies_.refuse(request,
                               fmt::format("{} is the local postmaster, which is never suppressed", own->recipient),
                               code::bad_request);
    with_user_name(deps_.pool, request, [this, request, order = std::move(order)](std::string who) mutable {
        for (auto& each : order.entries) each.who = who;
        const auto count = order.entries.size();
        const bool put = order.doing == Suppressions::Operation::put, dry = order.dry_run;
        const auto first = order.entries.front();
        order.done = [this, request, who, count, put, dry,
                      first](const spool::Result<Suppressions::ChangeCounts>& counts) {
            if (!counts)
                return replies_.refuse(request, fmt::format("the suppression list: {}", counts.error().what),
                                       code::failed);
            if (!dry && count == 1 && (put || counts->made > 0))
                deps_.log.info("suppression: {}{}{} {} by {}{}{}", first.recipient,
                               first.scope == decide::SuppressionScope{} ? "" : " for ", scope_text(first.scope),
                               put ? "added to the list" : "removed from the list", who,
                               first.reason.empty() ? "" : ": ", first.reason);
            else if (!dry && (put || counts->made > 0))
                deps_.log.info("suppression: {} entries {} by {}", put ? counts->made + counts->other : counts->made,
                               put ? "added to the list" : "removed from the list", who);
            replies_.send(request, {{put ? "added" : "removed", counts->made},
                                    {put ? "replaced" : "not_found", counts->other},
                                    {"dry_run", dry}});
            replies_.finish(request);
        };
        deps_.suppressions.change(std::move(order));
    });
}

// A batch is read on a thread, its matches are sent or removed, then the next.
struct SuppressionRequests::Walk {
    Request request;
    decide::SuppressionFilter filter;
    std::string after, who;
    std::uint64_t limit = 0, found = 0; // limit 0: none
    bool remove = false, dry_run = false, over = false;
};

void SuppressionRequests::list(const Request& request, const json& body) { walk(request, body, Purpose::list); }

void SuppressionRequests::remove_matching(const Request& request, const json& body) {
    walk(request, body, Purpose::remove);
}

void SuppressionRequests::walk(const Request& request, const json& body, Purpose purpose) {
    auto walk = std::make_shared<Walk>();
    walk->request = request;
    walk->remove = purpose == Purpose::remove;
    std::vector<std::string> words;
    try {
        words = body.value("filter", words);
        walk->limit = body.value("limit", std::uint64_t{0});
        walk->dry_run = body.value("dry_run", false);
        if (const auto after = body.find("after"); after != body.end()) walk->after = key_of(*after);
    } catch (const json::exception&) {
        return replies_.refuse(request, "a field of the request has the wrong type", code::bad_request);
    }
    auto filter = decide::SuppressionFilter::parse(words);
    if (!filter) return replies_.refuse(request, filter.error(), code::bad_request);
    if (walk->remove && words.empty())
        return replies_.refuse(request, "no entries given: expected recipients, filter words, or all",
                               code::bad_request);
    walk->filter = std::move(*filter);
    with_user_name(deps_.pool, request, [this, walk](std::string who) {
        walk->who = std::move(who);
        step(walk);
    });
}

void SuppressionRequests::step(const std::shared_ptr<Walk>& walk) {
    deps_.suppressions.look([this, walk, now = common::Loop::now().wall](const common::SuppressionList* list) {
        Suppressions::Entries matched;
        std::string error = list ? "" : "it cannot be opened";
        while (list && !walk->over && matched.empty()) {
            auto some = list->walk(walk->after, walked_at_once, now);
            walk->over = !some || some->size() < walked_at_once;
            if (!some)
                error = some.error().what;
            else
                for (auto& each : *some)
                    if (walk->filter.matches(each, now)) matched.push_back(std::move(each));
        }
        deps_.pool.complete([this, walk, matched = std::move(matched), error = std::move(error)]() mutable {
            if (!error.empty())
                return replies_.refuse(walk->request, fmt::format("the suppression list: {}", error), code::failed);
            if (walk->remove) return remove(walk, std::move(matched));
            for (const auto& each : matched) {
                if (walk->limit > 0 && walk->found == walk->limit) walk->over = true;
                if (walk->limit > 0 && walk->found == walk->limit) break;
                ++walk->found;
                if (!replies_.send(walk->request, entry_json(each))) return; // the client has gone
            }
            go_on(walk);
        });
    });
}

void SuppressionRequests::remove(const std::shared_ptr<Walk>& walk, Suppressions::Entries matched) {
    if (matched.empty()) return go_on(walk);
    deps_.suppressions.change({.doing = Suppressions::Operation::erase,
                               .entries = std::move(matched),
                               .dry_run = walk->dry_run,
                               .done = [this, walk](const spool::Result<Suppressions::ChangeCounts>& counts) {
                                   if (!counts)
                                       return replies_.refuse(
                                           walk->request, fmt::format("the suppression list: {}", counts.error().what),
                                           code::failed);
                                   walk->found += counts->made;
                                   go_on(walk);
                               }});
}

void SuppressionRequests::go_on(const std::shared_ptr<Walk>& walk) {
    const auto& request = walk->request;
    if (!walk->over) return replies_.when_writable(request, [this, walk] { step(walk); });
    if (walk->remove) {
        if (walk->found > 0 && !walk->dry_run)
            deps_.log.info("suppression: {} entries removed from the list by {}", walk->found, walk->who);
        replies_.send(request, {{"removed", walk->found}, {"not_found", 0}, {"dry_run", walk->dry_run}});
    }
    replies_.finish(request);
}

void SuppressionRequests::check(const Request& request, const json& body) {
    std::string address;
    decide::SuppressionSubject message;
    try {
        address = body.value("address", "");
        message = {body.value("sender", ""), body.value("pool", ""), body.value("lane", "")};
    } catch (const json::exception&) {
        return replies_.refuse(request, "a field of the request has the wrong type", code::bad_request);
    }
    if (const auto recipient = decide::suppression_recipient(address, common::name_folding()); !recipient)
        return replies_.refuse(request, recipient.error(), code::bad_request);
    if (address.find('@') == address.npos) address = "*@" + address; // any recipient there
    if (address.starts_with('@')) address = "*" + address;
    const bool own = is_own_postmaster(address, deps_.config);
    deps_.suppressions.look([this, request, address, message, own,
                             now = common::Loop::now().wall](const common::SuppressionList* list) {
        auto found =
            list ? list->find(address, message, now)
                 : spool::Result<std::optional<Suppression>>(std::unexpected(spool::Error{EIO, "it cannot be opened"}));
        deps_.pool.complete([this, request, own, found = std::move(found)] {
            if (!found)
                return replies_.refuse(request, fmt::format("the suppression list: {}", found.error().what),
                                       code::failed);
            if (*found && !own) replies_.send(request, entry_json(**found));
            replies_.finish(request);
        });
    });
}

} // namespace queue_manager
