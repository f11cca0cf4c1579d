// The suppression list as operators see and change it over run/control.
#include "daemons/common/proto/control.h"
#include "daemons/decide/message/suppression_filter.h"
#include "daemons/queue-manager/control/control.h"
#include "daemons/queue-manager/control/control_json.h"
#include "libsmtp/text/text.h"
#include <algorithm>
#include <expected>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace queue_manager {

namespace code = proto::control::code;
using decide::Suppression;

namespace {

constexpr std::size_t walked_at_once = 500, most_at_once = 1000;

nlohmann::json json_of(const Suppression& entry) {
    return {{"recipient", entry.recipient}, {"sender", entry.sender},
            {"reason", entry.reason},       {"reply", entry.reply},
            {"added_by", entry.who},             {"automatic", entry.automatic},
            {"added", seconds_of(entry.added)}, {"expires", seconds_of(entry.expires)}};
}

std::string one_line(const nlohmann::json& from, const char* key) {
    return smtp::printable(from.value(key, ""), common::SuppressionList::longest_text);
}

// The error says which entry is wrong.
std::expected<Suppressions::Entries, std::string> entries_of(const nlohmann::json& body, smtp::WallTime now) {
    Suppressions::Entries out;
    const auto list = body.find("entries");
    if (list == body.end() || !list->is_array() || list->empty() || list->size() > most_at_once)
        return std::unexpected(fmt::format("\"entries\" must be a list of 1 to {}", most_at_once));
    for (const auto& each : *list) {
        auto recipient = decide::suppression_recipient(each.value("recipient", ""), common::name_folding());
        if (!recipient) return std::unexpected(recipient.error());
        auto sender = decide::suppression_sender(each.value("sender", ""), common::name_folding());
        if (!sender) return std::unexpected(fmt::format("the sender's domain: {}", sender.error()));
        if (decide::suppression_key(*recipient, *sender).size() > store::longest_key)
            return std::unexpected(fmt::format("\"{}\" is too long", *recipient));
        const std::int64_t expires = each.value("expires", 0);
        out.push_back({.recipient = std::move(*recipient),
                       .sender = std::move(*sender),
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

void Control::change_suppressions(const Request& request, const json& body, Suppressions::Operation doing) {
    Suppressions::Order order;
    order.doing = doing;
    try {
        order.dry_run = body.value("dry_run", false);
        auto entries = entries_of(body, common::Loop::now().wall);
        if (!entries) return refuse(request, entries.error(), code::bad_request);
        order.entries = std::move(*entries);
    } catch (const json::exception&) {
        return refuse(request, "a field of the request has the wrong type", code::bad_request);
    }
    if (const auto own = std::ranges::find_if(order.entries,
                                              [&](const auto& each) { return deps_.own_postmaster(each.recipient); });
        own != order.entries.end() && doing == Suppressions::Operation::put)
        return refuse(request, fmt::format("{} is the local postmaster, which is never suppressed", own->recipient),
                      code::bad_request);
    with_name(request, [this, request, order = std::move(order)](std::string who) mutable {
        for (auto& each : order.entries) each.who = who;
        const auto count = order.entries.size();
        const bool put = order.doing == Suppressions::Operation::put, dry = order.dry_run;
        const auto first = order.entries.front();
        order.done = [this, request, who, count, put, dry, first](const spool::Result<Suppressions::ChangeCounts>& counts) {
            if (!counts) return refuse(request, fmt::format("the suppression list: {}", counts.error().what), code::failed);
            if (!dry && count == 1 && (put || counts->made > 0))
                deps_.log.info("suppression: {}{}{} {} by {}{}{}", first.recipient,
                               first.sender.empty() ? "" : " for mail from ", first.sender,
                               put ? "added to the list" : "removed from the list", who, first.reason.empty() ? "" : ": ",
                               first.reason);
            else if (!dry && (put || counts->made > 0))
                deps_.log.info("suppression: {} entries {} by {}", put ? counts->made + counts->other : counts->made,
                                put ? "added to the list" : "removed from the list", who);
            server_->send(request.peer, {{put ? "added" : "removed", counts->made},
                                         {put ? "replaced" : "not_found", counts->other},
                                         {"dry_run", dry}});
            server_->finish(request.peer);
        };
        deps_.suppressions.change(std::move(order));
    });
}

// A batch is read on a thread, what matches of it is sent or taken away, then the next.
struct Control::SuppressionWalk {
    Request request;
    decide::SuppressionFilter filter;
    std::string after, who;
    std::uint64_t limit = 0, found = 0; // limit 0: none
    bool remove = false, dry_run = false, over = false;
};

void Control::walk_suppressions(const Request& request, const json& body, bool remove) {
    auto walk = std::make_shared<SuppressionWalk>();
    walk->request = request;
    walk->remove = remove;
    std::vector<std::string> words;
    try {
        words = body.value("filter", words);
        walk->limit = body.value("limit", std::uint64_t{0});
        walk->dry_run = body.value("dry_run", false);
    } catch (const json::exception&) {
        return refuse(request, "a field of the request has the wrong type", code::bad_request);
    }
    auto filter = decide::SuppressionFilter::parse(words);
    if (!filter) return refuse(request, filter.error(), code::bad_request);
    if (remove && words.empty())
        return refuse(request, "no entries given: expected recipients, filter words, or all", code::bad_request);
    walk->filter = std::move(*filter);
    with_name(request, [this, walk](std::string who) {
        walk->who = std::move(who);
        step_suppressions(walk);
    });
}

void Control::step_suppressions(const std::shared_ptr<SuppressionWalk>& walk) {
    deps_.suppressions.look([this, walk, now = common::Loop::now().wall](const common::SuppressionList* list) {
        Suppressions::Entries matched;
        std::string error = list ? "" : "it cannot be opened";
        while (list && !walk->over && matched.empty()) {
            auto some = list->walk(walk->after, walked_at_once, now);
            walk->over = !some || some->size() < walked_at_once;
            if (!some) error = some.error().what;
            else
                for (auto& each : *some)
                    if (walk->filter.matches(each, now)) matched.push_back(std::move(each));
        }
        deps_.pool.complete([this, walk, matched = std::move(matched), error = std::move(error)]() mutable {
            if (!error.empty()) return refuse(walk->request, fmt::format("the suppression list: {}", error), code::failed);
            if (walk->remove) return remove_suppressions(walk, std::move(matched));
            for (const auto& each : matched) {
                if (walk->limit > 0 && walk->found == walk->limit) walk->over = true;
                if (walk->limit > 0 && walk->found == walk->limit) break;
                ++walk->found;
                if (!server_->send(walk->request.peer, json_of(each))) return; // gone
            }
            after_suppressions(walk);
        });
    });
}

void Control::remove_suppressions(const std::shared_ptr<SuppressionWalk>& walk, Suppressions::Entries matched) {
    if (matched.empty()) return after_suppressions(walk);
    deps_.suppressions.change({.doing = Suppressions::Operation::erase,
                               .entries = std::move(matched),
                               .dry_run = walk->dry_run,
                               .done = [this, walk](const spool::Result<Suppressions::ChangeCounts>& counts) {
                                   if (!counts)
                                       return refuse(walk->request,
                                                     fmt::format("the suppression list: {}", counts.error().what),
                                                     code::failed);
                                   walk->found += counts->made;
                                   after_suppressions(walk);
                               }});
}

void Control::after_suppressions(const std::shared_ptr<SuppressionWalk>& walk) {
    const auto peer = walk->request.peer;
    if (!walk->over) {
        if (!server_->congested(peer)) return step_suppressions(walk);
        return server_->on_writable(peer, [this, walk] { step_suppressions(walk); });
    }
    if (walk->remove) {
        if (walk->found > 0 && !walk->dry_run)
            deps_.log.info("suppression: {} entries removed from the list by {}", walk->found, walk->who);
        server_->send(peer, {{"removed", walk->found}, {"not_found", 0}, {"dry_run", walk->dry_run}});
    }
    server_->finish(peer);
}

void Control::check_suppression(const Request& request, const json& body) {
    std::string address, sender;
    try {
        address = body.value("address", "");
        sender = body.value("sender", "");
    } catch (const json::exception&) {
        return refuse(request, "a field of the request has the wrong type", code::bad_request);
    }
    if (const auto recipient = decide::suppression_recipient(address, common::name_folding()); !recipient)
        return refuse(request, recipient.error(), code::bad_request);
    if (address.find('@') == address.npos) address = "*@" + address; // anybody there
    if (address.starts_with('@')) address = "*" + address;
    const bool own = deps_.own_postmaster(address);
    deps_.suppressions.look([this, request, address, sender, own,
                             now = common::Loop::now().wall](const common::SuppressionList* list) {
        auto found = list ? list->find(address, sender, now)
                          : spool::Result<std::optional<Suppression>>(
                                std::unexpected(spool::Error{EIO, "it cannot be opened"}));
        deps_.pool.complete([this, request, own, found = std::move(found)] {
            if (!found) return refuse(request, fmt::format("the suppression list: {}", found.error().what), code::failed);
            if (*found && !own) server_->send(request.peer, json_of(**found));
            server_->finish(request.peer);
        });
    });
}

} // namespace queue_manager
