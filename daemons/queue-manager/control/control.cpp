// Requests in, looking, pauses. Choosing and changing messages: control_messages.cpp.
#include "daemons/queue-manager/control/control.h"
#include "daemons/common/config/config.h"
#include "daemons/common/config/load.h"
#include "daemons/common/proto/control.h"
#include "daemons/queue-manager/control/control_json.h"
#include "daemons/queue-manager/control/reload_effects.h"
#include "libsmtp/message/address.h"
#include "libsmtp/text/text.h"
#include "libspool/message/message_reader.h"
#include <algorithm>
#include <fmt/format.h>
#include <numeric>
#include <pwd.h>
#include <span>

namespace queue_manager {

namespace op = proto::control::op;
namespace code = proto::control::code;
using decide::queue::Ages;
using decide::queue::Scope;

namespace {

constexpr std::size_t most_links_shown = 20;

std::string user_name(uid_t uid) {
    std::array<char, 4096> space;
    passwd entry, *found = nullptr;
    if (getpwuid_r(uid, &entry, space.data(), space.size(), &found) == 0 && found != nullptr)
        return found->pw_name;
    return fmt::format("uid {}", uid);
}

nlohmann::json suppression_of(const Suppressions::Figures& figures) {
    return {{"entries", figures.entries},
            {"automatic_today", figures.automatic_today},
            {"loading", figures.loading},
            {"error", figures.why_not}};
}

} // namespace

void Control::listen(common::Fd fd, common::Operators operators) {
    server_ = std::make_unique<ipc::JsonServer>(
        deps_.loop, deps_.log, std::move(fd), operators,
        [this](const Request& request, const json& body) { handle(request, body); });
}

void Control::refuse(const Request& request, std::string_view error, std::string_view code) {
    server_->refuse(request.peer, error, code);
}

void Control::handle(const Request& request, const json& body) {
    const std::string what = text_field(body, "op");
    if (look(request, body, what) || change(request, body, what)) return;
    refuse(request, fmt::format("the queue-manager knows no operation \"{}\"", what), code::bad_request);
}

bool Control::look(const Request& request, const json& body, std::string_view what) {
    if (what == op::status) {
        server_->send(request.peer, status());
        server_->finish(request.peer);
    } else if (what == op::links || what == op::link) {
        send_links(request, what == op::link ? text_field(body, "link") : "");
    } else if (what == op::queues || what == op::queue) {
        send_queues(request, what == op::queue ? text_field(body, "queue") : "");
    } else if (what == op::messages) {
        send_messages(request, body);
    } else if (what == op::explain && body.contains("address")) {
        query_routes(request, text_field(body, "address"));
    } else if (what == op::message || what == op::explain) {
        send_message(request, body, what == op::explain);
    } else if (what == op::suppressions) {
        walk_suppressions(request, body, false);
    } else if (what == op::suppressed) {
        check_suppression(request, body);
    } else if (what == op::reload_effects) {
        send_reload_effects(request, body);
    } else if (what == op::attempt) {
        attempt(request, body);
    } else {
        return false;
    }
    return true;
}

bool Control::change(const Request& request, const json& body, std::string_view what) {
    if (what == op::flush) {
        deps_.with_engine(
            [](auto& engine, smtp::Now now, auto& out) { engine.force(Scope::everything, "", now, out); });
        server_->finish(request.peer);
    } else if (what == op::pause || what == op::resume) {
        set_pause(request, body, what == op::pause);
    } else if (what == op::restore) {
        restore(request, body);
    } else if (what == op::suppress) {
        change_suppressions(request, body, Suppressions::Operation::put);
    } else if (what == op::unsuppress && body.contains("filter")) {
        walk_suppressions(request, body, true);
    } else if (what == op::unsuppress) {
        change_suppressions(request, body, Suppressions::Operation::erase);
    } else if (what == op::force && body.contains("scope")) {
        force(request, body);
    } else if (what == op::force || what == op::hold || what == op::release || what == op::remove ||
               what == op::expire || what == op::reroute || what == op::reprioritise || what == op::requeue) {
        change_messages(request, body, std::string(what));
    } else {
        return false;
    }
    return true;
}

nlohmann::json Control::status() const {
    const auto now = common::Loop::now();
    const auto counts = deps_.engine.counts();
    const auto queue_status = deps_.queue_status();
    auto links = deps_.engine.links(now);
    // All that waits is in some line: of those that are not told apart, the sum.
    std::erase_if(links, [this](const auto& link) {
        return link.due + link.waiting == 0 && link.health == decide::queue::Health::ready &&
               deps_.resting(link.name).empty();
    });
    std::ranges::stable_sort(links, std::ranges::greater{},
                             [](const auto& link) { return std::pair(link.due, link.waiting); });
    json rest = {{"links", 0}, {"due", 0}, {"waiting", 0}, {"deliveries", 0}};
    if (links.size() > most_links_shown) {
        const std::span left(links.begin() + most_links_shown, links.end());
        const auto sum = [&](auto member) {
            return std::accumulate(left.begin(), left.end(), std::uint64_t{0},
                                   [&](auto so_far, const auto& link) { return so_far + link.*member; });
        };
        using decide::queue::LinkInfo;
        rest = {{"links", left.size()},
                {"due", sum(&LinkInfo::due)},
                {"waiting", sum(&LinkInfo::waiting)},
                {"deliveries", sum(&LinkInfo::deliveries)}};
        links.resize(most_links_shown);
    }
    json shown = json::array(), pauses = json::array(), services = json::object();
    for (const auto& link : links) shown.push_back(line_of(link));
    for (const auto& pause : pauses_) pauses.push_back(json_of(pause));
    json unlinked = json::array();
    for (const auto& mail : deps_.engine.unrouted(most_links_shown)) unlinked.push_back(json_of(mail));
    json put_aside = json::array();
    for (const auto& each : queue_status.put_aside)
        put_aside.push_back({{"directory", each.directory},
                             {"messages", each.kept.files},
                             {"bytes", each.kept.bytes},
                             {"deleted", each.kept.removed}});
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
            {"retained", std::move(put_aside)},
            {"connections", counts.connections},
            {"services", std::move(services)},
            {"links", std::move(shown)},
            {"other_links", std::move(rest)},
            {"unrouted", std::move(unlinked)},
            {"pauses", std::move(pauses)},
            {"suppression", suppression_of(deps_.suppressions.figures(now.wall))},
            {"problems", queue_status.problems}};
}

nlohmann::json Control::resting(const std::string& link) const {
    auto out = json::array();
    for (const auto& rest : deps_.resting(link))
        out.push_back({{"source", rest.source}, {"until", seconds_of(rest.until)}, {"reason", rest.why}});
    return out;
}

nlohmann::json Control::line_of(const decide::queue::LinkInfo& link) const {
    auto line = json_of(link);
    if (link.paused_by) line["idle_reason"] = pause_text(*link.paused_by, pauses_);
    line["backing_off"] = resting(link.name);
    return line;
}

nlohmann::json Control::line_of(const decide::queue::QueueInfo& queue) const {
    auto line = json_of(queue);
    if (queue.paused_by) line["idle_reason"] = pause_text(*queue.paused_by, pauses_);
    return line;
}

void Control::send_links(const Request& request, const std::string& name) {
    bool known = name.empty();
    for (const auto& link : deps_.engine.links(common::Loop::now(), Ages::yes)) {
        if (!name.empty() && link.name != name) continue;
        known = true;
        auto line = line_of(link);
        if (!name.empty()) line["history"] = json_of(deps_.engine.failures_of(name), {});
        server_->send(request.peer, line);
    }
    if (!known)
        return refuse(
            request,
            fmt::format("there is no link \"{}\": no mail is for it; \"postrider link list\" shows the links", name),
            code::unknown);
    if (!name.empty())
        for (const auto& queue : deps_.engine.queues(common::Loop::now(), Ages::yes))
            if (queue.link == name) server_->send(request.peer, line_of(queue));
    server_->finish(request.peer);
}

void Control::send_queues(const Request& request, const std::string& name) {
    bool known = name.empty();
    for (const auto& queue : deps_.engine.queues(common::Loop::now(), Ages::yes)) {
        if (!name.empty() && queue.name != name) continue;
        known = true;
        server_->send(request.peer, line_of(queue));
    }
    if (!known)
        return refuse(request,
                      fmt::format("there is no queue \"{}\": no mail is for that domain; \"postrider queue list\" "
                                  "shows the queues",
                                  name),
                      code::unknown);
    server_->finish(request.peer);
}

void Control::send_message(const Request& request, const json& body, bool explain) {
    const auto id = spool::QueueId::parse(text_field(body, "id"));
    if (!id)
        return refuse(request, fmt::format("\"{}\" is no queue id such as 0C5D183A07F310", text_field(body, "id")),
                      code::bad_request);
    const auto info = deps_.engine.message(*id, common::Loop::now());
    if (!info) {
        const bool loading = deps_.queue_status().loading;
        return refuse(request,
                      fmt::format("there is no message \"{}\"{}", text_field(body, "id"),
                                  loading ? " yet: the spool is still being read" : ""),
                      loading ? code::loading : code::unknown);
    }
    deps_.pool.post([this, request, id = *id, location = info->location, explain] {
        auto reader = spool::MessageReader::open(deps_.pool.disk(), id, location, spool::ReadLock::none);
        std::optional<spool::MessageState> state;
        std::string error;
        HeaderFacts said;
        if (reader) {
            state = reader->state();
            const auto header = explain ? spool::ReadResult<std::string>() : reader->read_header(longest_header);
            if (header) said = facts_of(*header);
        } else {
            error = spool::text_of(reader.error());
        }
        deps_.pool.complete([this, request, id, explain, state = std::move(state), said = std::move(said),
                              error = std::move(error)] {
            auto now = deps_.engine.message(id, common::Loop::now());
            if (now) set_pause_reasons(*now);
            if (!state) return refuse(request, fmt::format("{}: {}", id.text(), error), code::failed);
            if (!now)
                return refuse(request, fmt::format("{} has just been finished", id.text()), code::unknown);
            if (explain) {
                for (auto& line : explained(id, deps_.engine.explain(id), *state, pauses_, deps_.agent_user())) {
                    line["backing_off"] = resting(line["link"].get<std::string>());
                    server_->send(request.peer, line);
                }
            } else {
                auto line = json_of(*now, *state, said, Detail::everything, deps_.agent_user());
                for (auto& recipient : line["recipients"])
                    recipient["link_failures"] = json_of(
                        deps_.engine.failures_of(recipient["link"].get<std::string>()), now->arrival);
                server_->send(request.peer, line);
            }
            server_->finish(request.peer);
        });
    });
}

void Control::send_reload_effects(const Request& request, const json& body) {
    const auto to_be = config::parse(text_field(body, "configuration"), text_field(body, "file"));
    if (!to_be) return refuse(request, "the configuration is refused: see \"postrider check\"", code::bad_request);
    if (deps_.queue_status().loading)
        return refuse(request, "the spool is still being read: what it would do to mail is not known yet", code::loading);
    json totals = json::object();
    for (const auto& effect : reload_effects(deps_.config(), *to_be, deps_.engine.queues(common::Loop::now()))) {
        auto& total = totals[std::string(word_of(effect.what))];
        total = (total.is_null() ? std::uint64_t{0} : total.get<std::uint64_t>()) + effect.deliveries;
        server_->send(request.peer, {{"effect", word_of(effect.what)},
                                     {"queue", effect.queue},
                                     {"link", effect.link},
                                     {"messages", effect.deliveries},
                                     {"detail", effect.how}});
    }
    server_->send(request.peer, {{"totals", std::move(totals)}, {"limit", deps_.config().master.reload_limit}});
    server_->finish(request.peer);
}

void Control::query_routes(const Request& request, const std::string& address) {
    if (!smtp::Mailbox::parse(address))
        return refuse(request, fmt::format("\"{}\" is not an address", address), code::bad_request);
    deps_.query_route(address,
                   [this, request](const RouteQuery::Findings& findings) { send_routes(request, findings); });
}

void Control::send_routes(const Request& request, const RouteQuery::Findings& findings) {
    if (!findings.error.empty()) return refuse(request, findings.error, code::unavailable);
    const auto links = deps_.engine.links(common::Loop::now());
    for (const auto& recipient_route : findings.routes) {
        auto line = json_of(recipient_route);
        const auto known = std::ranges::find(links, line.value("link", ""), &decide::queue::LinkInfo::name);
        line["link_state"] = known == links.end() ? "" : json_of(*known)["state"];
        line["paused"] = known != links.end() && known->paused;
        line["last_error"] = known == links.end() ? "" : known->last_error.text;
        server_->send(request.peer, line);
    }
    server_->finish(request.peer);
}

void Control::with_name(const Request& request, std::function<void(std::string who)> then) {
    deps_.pool.post([this, uid = request.credentials.uid, then = std::move(then)]() mutable {
        deps_.pool.complete([who = user_name(uid), then = std::move(then)] { then(who); });
    });
}

// ---- pauses ----

std::optional<std::string> Control::everything_paused() const {
    if (find(pauses_, Scope::everything, "") == nullptr) return {};
    return pause_text({}, pauses_);
}

// What a request to pause, resume or force is about; nothing: refused.
std::optional<std::pair<Scope, std::string>> Control::scope_in(const Request& request, const json& body) {
    const auto scope = scope_of(text_field(body, "scope"));
    auto name = text_field(body, "name");
    if (!scope || (*scope == Scope::everything) != name.empty()) {
        refuse(request, "say what: everything, or a queue, link or pool by its name", code::bad_request);
        return {};
    }
    // A queue's name is its domain: written in any case. A pool's behind the @ is as it was given.
    const auto domain = *scope == Scope::queue ? name.substr(0, name.rfind('@')) : std::string();
    name.replace(0, domain.size(), smtp::lowered(domain));
    return std::pair{*scope, std::move(name)};
}

// A domain's or a pool's mail may be stopped before any has come; links are only what there is.
std::string Control::pause_error(Scope scope, const std::string& name) const {
    const bool store = scope == Scope::queue && (name == "store:local" || name.starts_with("store:local/"));
    if (store || deps_.engine.knows(scope, name))
        return "";
    if (scope == Scope::pool)
        return deps_.knows_pool(name)
                   ? ""
                   : fmt::format("there is no pool \"{}\": neither the configuration nor queued mail names it", name);
    if (scope == Scope::link)
        return deps_.routed(name) ? ""
                                   : fmt::format("there is no link \"{}\": no mail is for it and no [route] "
                                                 "leads there; \"postrider link list\" shows the links",
                                                 name);
    const auto at = name.rfind('@');
    const auto domain = name.substr(0, at);
    if (!smtp::Mailbox::parse("postmaster@" + domain))
        return fmt::format("\"{}\" is no queue: a queue is named by its domain", name);
    if (at != name.npos && !deps_.knows_pool(name.substr(at + 1)))
        return fmt::format("\"{}\" is no queue: behind the @ stands a pool of source addresses, and the configuration "
                           "has none of that name; the mail for a domain is named by the domain alone",
                           name);
    return "";
}

void Control::set_pause(const Request& request, const json& body, bool on) {
    const auto place = scope_in(request, body);
    if (!place) return;
    const auto& [scope, name] = *place;
    if (const auto wrong = on ? pause_error(scope, name) : ""; !wrong.empty())
        return refuse(request, wrong, scope == Scope::queue ? code::bad_request : code::unknown);
    with_name(request, [this, request, scope = scope, name = name, why = text_field(body, "reason"), on](std::string who) {
        pause_requests_.push_back(
            {request, {scope, name, std::move(who), why, common::Loop::now().wall}, on});
        next_pause();
    });
}

void Control::next_pause() {
    if (writing_pauses_ || pause_requests_.empty()) return;
    PauseRequest next = std::move(pause_requests_.front());
    pause_requests_.pop_front();
    const Pause& pause = next.pause;
    const std::string what =
        fmt::format("{}{}{}", word_of(pause.scope), pause.name.empty() ? "" : " ", pause.name);
    const auto* known = find(pauses_, pause.scope, pause.name);
    if ((known != nullptr) == next.on) {
        refuse(next.request,
               next.on ? fmt::format("{} is paused already, by {}{}", what, known->who,
                                     known->why.empty() ? "" : ": " + known->why)
                       : fmt::format("{} is not paused", what),
               code::already);
        return next_pause();
    }
    Pauses then = pauses_;
    if (next.on)
        then.push_back(pause);
    else
        std::erase_if(
            then, [&](const Pause& each) { return each.scope == pause.scope && each.name == pause.name; });
    writing_pauses_ = true;
    deps_.pool.post([this, next = std::move(next), then = std::move(then), what]() mutable {
        auto written = save(deps_.pool.disk(), then);
        deps_.pool.complete([this, next = std::move(next), then = std::move(then), what, written] {
            writing_pauses_ = false;
            if (!written) {
                refuse(next.request, fmt::format("cannot write the file pauses: {}", written.error().what),
                       code::failed);
                return next_pause();
            }
            pauses_ = then;
            deps_.with_engine([&](auto& engine, smtp::Now now, auto& out) {
                if (next.on)
                    engine.pause(next.pause.scope, next.pause.name, now, out);
                else
                    engine.resume(next.pause.scope, next.pause.name, now, out);
            });
            deps_.log.info("{} {} by {}{}", what, next.on ? "paused" : "resumed", next.pause.who,
                            next.pause.why.empty() ? "" : ": " + next.pause.why);
            const bool known = deps_.engine.knows(next.pause.scope, next.pause.name);
            server_->send(next.request.peer, {{"scope", word_of(next.pause.scope)},
                                              {"name", next.pause.name},
                                              {"has_mail", known}});
            server_->finish(next.request.peer);
            next_pause();
        });
    });
}

void Control::force(const Request& request, const json& body) {
    const auto place = scope_in(request, body);
    if (!place) return;
    const auto& [scope, name] = *place;
    bool known = false;
    deps_.with_engine([&, scope = scope, &name = name](auto& engine, smtp::Now now, auto& out) {
        known = engine.force(scope, name, now, out);
    });
    if (!known)
        return refuse(request, fmt::format("there is no {} \"{}\"", word_of(scope), name), code::unknown);
    server_->send(request.peer, {{"has_mail", true}, {"paused_by", pause_covering(scope, name)}});
    server_->finish(request.peer);
}

// Which pause keeps all that is there; "": none.
std::string Control::pause_covering(Scope scope, const std::string& name) const {
    if (const auto all = everything_paused()) return *all;
    if (find(pauses_, scope, name) != nullptr) return pause_text({scope, name}, pauses_);
    if (scope == Scope::queue)
        for (const auto& queue : deps_.engine.queues(common::Loop::now()))
            if (queue.name == name && queue.paused_by) return pause_text(*queue.paused_by, pauses_);
    return "";
}

} // namespace queue_manager
