#include "daemons/queue-manager/requests/queue_inspector.h"
#include "daemons/common/config/config.h"
#include "daemons/common/config/load.h"
#include "daemons/common/proto/control.h"
#include "daemons/common/runtime/loop.h"
#include "daemons/queue-manager/control/configured_names.h"
#include "daemons/queue-manager/control/control_json.h"
#include "daemons/queue-manager/control/explanation_json.h"
#include "daemons/queue-manager/control/reload_effects.h"
#include "libsmtp/message/address.h"
#include "libspool/message/message_reader.h"
#include <algorithm>
#include <fmt/format.h>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

namespace queue_manager {

namespace code = proto::control::code;
using decide::queue::Ages;
using decide::queue::BusiestFirst;
using nlohmann::json;

namespace {

constexpr std::size_t most_links_shown = 20;

json suppression_counts(const Suppressions::Figures& figures) {
    return {{"entries", figures.entries},
            {"automatic_today", figures.automatic_today},
            {"loading", figures.loading},
            {"error", figures.why_not}};
}

json set_aside_in(const std::vector<QuarantineCleaner::Place>& places) {
    json out = json::array();
    for (const auto& each : places)
        out.push_back({{"directory", each.directory},
                       {"messages", each.kept.files},
                       {"bytes", each.kept.bytes},
                       {"deleted", each.kept.removed}});
    return out;
}

// What keeps a message that is being moved to another node.
void name_transfer(json& line, const std::string& text, const spool::Transferring& transfer) {
    for (auto& gate : line["gates"]) {
        if (gate["gate"] != word_of(decide::queue::Gate::hold)) continue;
        gate["text"] = text;
        gate["origin"] =
            fmt::format("command: move to {}{}{}", transfer.node, transfer.why.empty() ? "" : ": ", transfer.why);
        gate["by"] = transfer.who;
        gate["since"] = seconds_of(transfer.time);
        gate["advice"] = "\"postrider message move --cancel ID\" keeps it here.";
    }
}

// The sums of those that are not listed individually.
json sums_of(std::span<const decide::queue::LinkInfo> links) {
    using decide::queue::LinkInfo;
    const auto sum = [&](auto member) {
        return std::accumulate(links.begin(), links.end(), std::uint64_t{0},
                               [&](auto so_far, const auto& link) { return so_far + link.*member; });
    };
    return {{"links", links.size()},
            {"due", sum(&LinkInfo::due)},
            {"waiting", sum(&LinkInfo::waiting)},
            {"deliveries", sum(&LinkInfo::deliveries)}};
}

} // namespace

// ---- status ----

void QueueInspector::send_status(const Request& request) const {
    replies_.send(request, status());
    replies_.finish(request);
}

void QueueInspector::send_recent(const Request& request) const {
    const auto now = common::Loop::now().wall;
    const auto status = deps_.status();
    json changes = json::array();
    for (const auto& each : deps_.recent.list(now))
        changes.push_back({{"time", seconds_of(each.time)},
                           {"type", each.type},
                           {"name", each.name},
                           {"who", each.who},
                           {"why", each.why},
                           {"count", each.count}});
    replies_.send(request, {{"changes", std::move(changes)},
                            {"left_out", deps_.recent.left_out()},
                            {"in", status.in_by_minute},
                            {"out", status.out_by_minute}});
    replies_.finish(request);
}

// {"links": the longest, "other_links": the sums of all others}
json QueueInspector::links_with_mail() const {
    auto links = deps_.engine.links(common::Loop::now());
    // Some line covers all mail that waits: the sum covers what is not listed individually.
    std::erase_if(links, [this](const auto& link) {
        return link.due + link.waiting == 0 && link.health == decide::queue::Health::ready &&
               deps_.resting.of(link.name, common::Loop::now()).empty();
    });
    std::ranges::stable_sort(links, std::ranges::greater{},
                             [](const auto& link) { return std::pair(link.due, link.waiting); });
    const std::size_t named = std::min(links.size(), most_links_shown);
    json shown = json::array();
    for (std::size_t n = 0; n < named; ++n) shown.push_back(line_of(links[n]));
    return {{"links", std::move(shown)}, {"other_links", sums_of(std::span(links).subspan(named))}};
}

json QueueInspector::status() const {
    const auto now = common::Loop::now();
    const auto counts = deps_.engine.counts();
    const auto queue_status = deps_.status();
    auto links = links_with_mail();
    json pauses = json::array(), services = json::object();
    for (const auto& pause : deps_.pauses.all()) pauses.push_back(json_of(pause));
    json unlinked = json::array();
    for (const auto& mail : deps_.engine.unrouted(most_links_shown)) unlinked.push_back(json_of(mail));
    for (const auto& [name, present] : queue_status.services) services[name] = present;
    json oldest = {{"id", ""}, {"arrival", 0}};
    if (const auto message = deps_.engine.oldest(now))
        oldest = {{"id", message->id.text()}, {"arrival", seconds_of(message->arrival)}};
    const auto left = static_cast<double>(counts.free + counts.active);
    const double drain = left == 0 ? 0 : queue_status.out > 0 ? left / queue_status.out : -1;
    return {{"messages", counts.messages},
            {"loading", queue_status.loading},
            {"accepting", queue_status.not_accepting.empty()},
            {"accepting_reason", queue_status.not_accepting},
            {"delivering", queue_status.not_delivering.empty()},
            {"delivering_reason", queue_status.not_delivering},
            {"rates", {{"in", queue_status.in}, {"out", queue_status.out}}},
            {"oldest", oldest},
            {"states",
             {{"new", counts.uncategorized},
              {"scheduled", counts.scheduled},
              {"held", counts.held},
              {"paused", counts.paused},
              {"routing", counts.routing},
              {"retrying", counts.retrying},
              {"due", counts.free},
              {"active", counts.active},
              {"report", counts.reports}}},
            {"drain_seconds", static_cast<std::int64_t>(drain)},
            {"uncategorized", counts.uncategorized},
            {"waiting", counts.waiting},
            {"due", counts.due},
            {"active", counts.active},
            {"held", counts.held},
            {"reports", counts.reports},
            {"retained", set_aside_in(queue_status.put_aside)},
            {"connections", counts.connections},
            {"services", std::move(services)},
            {"links", std::move(links["links"])},
            {"other_links", std::move(links["other_links"])},
            {"unrouted", std::move(unlinked)},
            {"pauses", std::move(pauses)},
            {"suppression", suppression_counts(deps_.suppressions.figures(now.wall))},
            {"problems", queue_status.problems}};
}

json QueueInspector::resting(const std::string& link) const {
    auto out = json::array();
    for (const auto& rest : deps_.resting.of(link, common::Loop::now()))
        out.push_back({{"source", rest.source}, {"until", seconds_of(rest.until)}, {"reason", rest.why}});
    return out;
}

json QueueInspector::line_of(const decide::queue::LinkInfo& link) const {
    auto line = json_of(link);
    if (link.paused_by) line["idle_reason"] = pause_text(*link.paused_by, deps_.pauses.all());
    line["backing_off"] = resting(link.name);
    return line;
}

json QueueInspector::line_of(const decide::queue::QueueInfo& queue) const {
    auto line = json_of(queue);
    if (queue.paused_by) line["idle_reason"] = pause_text(*queue.paused_by, deps_.pauses.all());
    return line;
}

// "limit" (none: all) and "after": {"deliveries", and the name under `name`}.
std::optional<BusiestFirst> QueueInspector::part_in(const json& body, const char* name) {
    const auto limit = body.value("limit", std::size_t{0});
    if (limit == 0) return {};
    BusiestFirst part{.at_most = limit, .behind = {}};
    if (const auto after = body.find("after"); after != body.end())
        part.behind = {.deliveries = after->value("deliveries", std::uint32_t{0}), .name = text_field(*after, name)};
    return part;
}

void QueueInspector::send_links(const Request& request, const json& body) const {
    const auto part = part_in(body, "link");
    const auto now = common::Loop::now();
    for (const auto& link : part ? deps_.engine.links(now, Ages::yes, *part) : deps_.engine.links(now, Ages::yes))
        replies_.send(request, line_of(link));
    replies_.finish(request);
}

void QueueInspector::send_link(const Request& request, const json& body) const {
    const auto name = text_field(body, "link");
    const auto now = common::Loop::now();
    const auto link = deps_.engine.link(name, now);
    if (!link)
        return replies_.refuse(
            request,
            fmt::format("there is no link \"{}\": no mail uses it; \"postrider link list\" shows the links", name),
            code::unknown);
    auto line = line_of(*link);
    line["history"] = json_of(deps_.engine.failures_of(name), {});
    line["limits"] = json_of(deps_.engine.limits_of(name));
    replies_.send(request, line);
    const auto part = part_in(body, "queue").value_or(BusiestFirst{.at_most = SIZE_MAX, .behind = {}});
    for (const auto& queue : deps_.engine.queues(name, now, part)) replies_.send(request, line_of(queue));
    replies_.finish(request);
}

void QueueInspector::send_queues(const Request& request, const json& body) const {
    const auto part = part_in(body, "queue");
    const auto now = common::Loop::now();
    for (const auto& queue : part ? deps_.engine.queues("", now, *part) : deps_.engine.queues(now, Ages::yes))
        replies_.send(request, line_of(queue));
    replies_.finish(request);
}

void QueueInspector::send_queue(const Request& request, const std::string& name) const {
    const auto queue = deps_.engine.queue(name, common::Loop::now());
    if (!queue)
        return replies_.refuse(request,
                               fmt::format("there is no queue \"{}\": no mail is queued for that domain; \"postrider "
                                           "queue list\" shows the queues",
                                           name),
                               code::unknown);
    replies_.send(request, line_of(*queue));
    replies_.finish(request);
}

// ---- one message ----

struct QueueInspector::FileContents {
    std::optional<spool::MessageState> state; // nothing: `error`
    ChosenRecipients chosen;
    HeaderFacts header;
    std::string error;
};

void QueueInspector::send_message(const Request& request, const json& body, View view) const {
    const auto name = text_field(body, "id");
    const auto id = spool::QueueId::parse(name);
    if (!id)
        return replies_.refuse(request, fmt::format("\"{}\" is not a queue id such as 0C5D183A07F310", name),
                               code::bad_request);
    const auto info = deps_.engine.message(*id, common::Loop::now(), no_recipient);
    if (!info) {
        const bool loading = deps_.status().loading;
        return replies_.refuse(
            request,
            fmt::format("there is no message \"{}\"{}", name, loading ? " yet: the spool is still being read" : ""),
            loading ? code::loading : code::unknown);
    }
    deps_.pool.post([this, request, id = *id, location = info->location, view, part = recipient_part(body)] {
        auto reader = spool::MessageReader::open(deps_.pool.disk(), id, location, spool::ReadLock::none);
        FileContents file;
        if (reader) {
            file.state = reader->state();
            file.chosen =
                choose(*file.state, view == View::explanation ? Recipients::unfinished : Recipients::all, part);
            const auto header =
                view == View::explanation ? spool::ReadResult<std::string>() : reader->read_header(longest_header);
            if (header) file.header = facts_of(*header);
        } else {
            file.error = spool::text_of(reader.error());
        }
        deps_.pool.complete([this, request, id, view, file = std::move(file)] { send_read(request, id, view, file); });
    });
}

void QueueInspector::send_read(const Request& request, spool::QueueId id, View view, const FileContents& file) const {
    const auto range = range_of(file.chosen);
    auto now = deps_.engine.message(id, common::Loop::now(), range);
    if (now) deps_.pauses.set_reasons(*now);
    if (!file.state) return replies_.refuse(request, fmt::format("{}: {}", id.text(), file.error), code::failed);
    if (!now) return replies_.refuse(request, fmt::format("{} has just left the queue", id.text()), code::unknown);
    const auto user = agent_user(*deps_.config);
    if (view == View::explanation) {
        for (auto& line :
             explained(id, deps_.engine.explain(id, range), *file.state, file.chosen, deps_.pauses.all(), user)) {
            if (const auto moved = deps_.transfers.text_of(id); !moved.empty())
                name_transfer(line, moved, file.state->transfer);
            line["lane"] = word_of(now->lane);
            line["lane_chosen_by"] = lane_chosen_by(*file.state);
            line["pool"] = file.state->envelope.pool;
            line["pool_chosen_by"] = file.state->envelope.pool_chosen_by;
            line["backing_off"] = resting(line["link"].get<std::string>());
            replies_.send(request, line);
        }
    } else {
        auto line = json_of(*now, *file.state, file.header, file.chosen, Detail::everything, user);
        for (auto& recipient : line["recipients"])
            recipient["link_failures"] =
                json_of(deps_.engine.failures_of(recipient["link"].get<std::string>()), now->arrival);
        replies_.send(request, line);
    }
    replies_.finish(request);
}

// ---- predictions ----

void QueueInspector::send_reload_effects(const Request& request, const json& body) const {
    const auto to_be = config::parse(text_field(body, "configuration"), text_field(body, "file"));
    if (!to_be)
        return replies_.refuse(request, "the configuration is invalid: see \"postrider check\"", code::bad_request);
    if (deps_.status().loading)
        return replies_.refuse(request, "the spool is still being read: the effect on mail is not known yet",
                               code::loading);
    json totals = json::object();
    for (const auto& effect : reload_effects(*deps_.config, *to_be, deps_.engine.queues(common::Loop::now()))) {
        auto& total = totals[std::string(word_of(effect.what))];
        total = (total.is_null() ? std::uint64_t{0} : total.get<std::uint64_t>()) + effect.deliveries;
        replies_.send(request, {{"effect", word_of(effect.what)},
                                {"queue", effect.queue},
                                {"link", effect.link},
                                {"messages", effect.deliveries},
                                {"detail", effect.how}});
    }
    replies_.send(request, {{"totals", std::move(totals)}, {"limit", deps_.config->master.reload_limit}});
    replies_.finish(request);
}

void QueueInspector::send_routes(const Request& request, const std::string& address) const {
    if (!smtp::Mailbox::parse(address))
        return replies_.refuse(request, fmt::format("\"{}\" is not an address", address), code::bad_request);
    deps_.route_query.ask(address, "",
                          [this, request](const RouteQuery::Findings& findings) { send_findings(request, findings); });
}

void QueueInspector::send_findings(const Request& request, const RouteQuery::Findings& findings) const {
    if (!findings.error.empty()) return replies_.refuse(request, findings.error, code::unavailable);
    const auto links = deps_.engine.links(common::Loop::now());
    for (const auto& recipient_route : findings.routes) {
        auto line = json_of(recipient_route);
        const auto known = std::ranges::find(links, line.value("link", ""), &decide::queue::LinkInfo::name);
        line["link_state"] = known == links.end() ? "" : json_of(*known)["state"];
        line["paused"] = known != links.end() && known->paused;
        line["last_error"] = known == links.end() ? "" : known->last_error.text;
        replies_.send(request, line);
    }
    replies_.finish(request);
}

} // namespace queue_manager
