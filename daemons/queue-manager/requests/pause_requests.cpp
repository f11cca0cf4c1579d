#include "daemons/queue-manager/requests/pause_requests.h"
#include "daemons/common/config/config.h"
#include "daemons/common/proto/control.h"
#include "daemons/queue-manager/control/configured_names.h"
#include "daemons/queue-manager/control/control_json.h"
#include "libsmtp/message/address.h"
#include "libsmtp/text/text.h"
#include <fmt/format.h>

namespace queue_manager {

namespace code = proto::control::code;
using decide::queue::Scope;

namespace {

std::string name_of_paused(const Pause& pause) {
    return fmt::format("{}{}{}", word_of(pause.scope), pause.name.empty() ? "" : " ", pause.name);
}

} // namespace

// The object of a request to pause, resume or force; nothing: rejected.
std::optional<PauseRequests::Place> PauseRequests::place_in(const Request& request, const nlohmann::json& body) const {
    const auto scope = scope_of(text_field(body, "scope"));
    auto name = text_field(body, "name");
    if (!scope || (*scope == Scope::everything) != name.empty()) {
        replies_.refuse(request, "expected everything, or a queue, link or pool by its name", code::bad_request);
        return {};
    }
    // A queue's name is its domain: case does not matter. A pool's, after the @, is taken as given.
    const auto domain = *scope == Scope::queue ? name.substr(0, name.rfind('@')) : std::string();
    name.replace(0, domain.size(), smtp::lowered(domain));
    return Place{*scope, std::move(name)};
}

// A domain's or a pool's mail may be paused before any has come; links must exist.
std::string PauseRequests::error_of(Scope scope, const std::string& name) const {
    const auto& config = *deps_.config;
    const bool store = scope == Scope::queue && (name == "store:local" || name.starts_with("store:local/"));
    if (store || deps_.driver.engine().knows(scope, name)) return "";
    if (scope == Scope::pool)
        return config.pool(name) != nullptr
                   ? ""
                   : fmt::format("there is no pool \"{}\": neither the configuration nor queued mail names it", name);
    if (scope == Scope::link)
        return is_routed(name, config) ? ""
                                       : fmt::format("there is no link \"{}\": no mail uses it and no [route] "
                                                     "leads there; \"postrider link list\" shows the links",
                                                     name);
    const auto at = name.rfind('@');
    const auto domain = name.substr(0, at);
    if (!smtp::Mailbox::parse("postmaster@" + domain))
        return fmt::format("\"{}\" is not a queue: a queue is named after its domain", name);
    if (at != name.npos && config.pool(name.substr(at + 1)) == nullptr)
        return fmt::format(
            "\"{}\" is not a queue: the name after the @ must be a pool of source addresses, and there is no "
            "such pool; a queue without a pool is named after its domain alone",
            name);
    return "";
}

void PauseRequests::change(const Request& request, const nlohmann::json& body, Operation operation) {
    const auto place = place_in(request, body);
    if (!place) return;
    const auto& [scope, name] = *place;
    if (const auto wrong = operation == Operation::pause ? error_of(scope, name) : ""; !wrong.empty())
        return replies_.refuse(request, wrong, scope == Scope::queue ? code::bad_request : code::unknown);
    with_user_name(
        deps_.pool, request,
        [this, request, operation, scope = scope, name = name, why = text_field(body, "reason")](std::string who) {
            waiting_.push_back({request, operation, {scope, name, std::move(who), why, common::Loop::now().wall}});
            next();
        });
}

void PauseRequests::next() {
    if (writing_ || waiting_.empty()) return;
    Change change = std::move(waiting_.front());
    waiting_.pop_front();
    const Pause& pause = change.pause;
    const bool on = change.operation == Operation::pause;
    const auto* known = find(deps_.pauses.all(), pause.scope, pause.name);
    if ((known != nullptr) == on) {
        replies_.refuse(change.request,
                        on ? fmt::format("{} is paused already, by {}{}", name_of_paused(pause), known->who,
                                         known->why.empty() ? "" : ": " + known->why)
                           : fmt::format("{} is not paused", name_of_paused(pause)),
                        code::already);
        return next();
    }
    Pauses then = deps_.pauses.all();
    if (on)
        then.push_back(pause);
    else
        std::erase_if(then, [&](const Pause& each) { return each.scope == pause.scope && each.name == pause.name; });
    writing_ = true;
    deps_.pool.post([this, change = std::move(change), then = std::move(then)]() mutable {
        auto result = save(deps_.pool.disk(), then);
        deps_.pool.complete([this, change = std::move(change), then = std::move(then), result] {
            writing_ = false;
            written(change, then, result);
            next();
        });
    });
}

void PauseRequests::written(const Change& change, Pauses pauses, const spool::Result<>& result) {
    if (!result)
        return replies_.refuse(change.request, fmt::format("cannot write the file pauses: {}", result.error().what),
                               code::failed);
    const bool on = change.operation == Operation::pause;
    const Pause& pause = change.pause;
    deps_.pauses.replace(std::move(pauses));
    deps_.driver.tell([&](auto& engine, smtp::Now now, auto& out) {
        if (on)
            engine.pause(pause.scope, pause.name, now, out);
        else
            engine.resume(pause.scope, pause.name, now, out);
    });
    deps_.events.pause(on ? SystemEvents::Change::set : SystemEvents::Change::cleared, word_of(pause.scope), pause.name,
                       pause.who, pause.why);
    deps_.log.info("{} {} by {}{}", name_of_paused(pause), on ? "paused" : "resumed", pause.who,
                   pause.why.empty() ? "" : ": " + pause.why);
    const bool known = deps_.driver.engine().knows(pause.scope, pause.name);
    replies_.send(change.request, {{"scope", word_of(pause.scope)}, {"name", pause.name}, {"has_mail", known}});
    replies_.finish(change.request);
}

void PauseRequests::force(const Request& request, const nlohmann::json& body) {
    const auto place = place_in(request, body);
    if (!place) return;
    const auto& [scope, name] = *place;
    bool known = false;
    deps_.driver.tell([&, scope = scope, &name = name](auto& engine, smtp::Now now, auto& out) {
        known = engine.force(scope, name, now, out);
    });
    if (!known)
        return replies_.refuse(request, fmt::format("there is no {} \"{}\"", word_of(scope), name), code::unknown);
    const auto paused_by = deps_.pauses.covering(scope, name, deps_.driver.engine());
    replies_.send(request, {{"has_mail", true}, {"paused_by", paused_by}});
    replies_.finish(request);
}

void PauseRequests::force_everything(const Request& request) {
    deps_.driver.tell([](auto& engine, smtp::Now now, auto& out) { engine.force(Scope::everything, "", now, out); });
    replies_.finish(request);
}

} // namespace queue_manager
