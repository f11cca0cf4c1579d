#include "daemons/events/hooks/hooks.h"
#include "daemons/common/runtime/read_file.h"
#include "daemons/events/hooks/command_endpoint.h"
#include "daemons/events/hooks/web_endpoint.h"
#include <algorithm>
#include <cassert>
#include <fmt/format.h>
#include <utility>

namespace events {

namespace {

// For answers, at a stop.
constexpr smtp::Duration longest_grace = std::chrono::seconds(2);

std::string problem_name(const std::string& hook) { return "hook " + hook; }

} // namespace

std::string Hooks::read_authorities(const std::string& file) const {
    if (file.empty() || wanted_.empty()) return "";
    auto text = common::read_file(file);
    if (text) return *std::move(text);
    context_.log.warning("smtp_client.tls_ca_file: {}; no server of a hook can be verified", text.error().what);
    return "";
}

void Hooks::reconfigure(const std::vector<config::Hook>& hooks, const std::string& journal,
                        const std::string& authorities_file, const proto::secrets::Hooks& secrets) {
    wanted_.clear();
    for (const auto& hook : hooks) {
        auto& wanted = wanted_[hook.name] = {hook, {}};
        const auto found = std::ranges::find(secrets.secrets, hook.name, &proto::secrets::HookSecret::hook);
        if (found != secrets.secrets.end()) wanted.secrets = found->text;
    }
    auto authorities = read_authorities(authorities_file);
    const bool others = journal != path_ || authorities != authorities_;
    if (journal != path_) watch_.reset();
    path_ = journal;
    authorities_ = std::move(authorities);
    std::vector<std::string> left;
    for (const auto& [name, hook] : hooks_)
        if (others || !wanted_.contains(name)) left.push_back(name);
    for (const auto& name : left) leave(name);
    if (wanted_.empty()) return watch_.reset();
    if (!watch_)
        watch_ = std::make_unique<JournalWatch>(
            context_.loop, path_, [this](const auto& view) { looked(view); },
            [this](const std::string& error) {
                if (!error.empty()) context_.log.error("hooks: {}", error);
                problems_.set("hooks", error.empty() ? "" : "hooks: " + error);
            });
    else if (watch_->view().disk)
        looked(watch_->view());
}

// One of the same name begins when its cursor is written.
void Hooks::leave(const std::string& name) {
    problems_.set(problem_name(name), "");
    used_.erase(name);
    auto& hook = leaving_[name] = std::move(hooks_.extract(name).mapped());
    hook->stop({}, [this, name] { context_.loop.defer([this, name] { leaving_.erase(name); }); });
}

// Each has what it does with files for itself.
Hook::Setup Hooks::setup_of(const Wanted& wanted, const JournalWatch::View& view) {
    auto secrets = webhook::Secrets::parse(wanted.secrets);
    WebEndpoint::Settings settings{wanted.hook, secrets.value_or(webhook::Secrets()), authorities_, view.node};
    return {.settings = wanted.hook,
            .files = std::make_shared<HookFiles>(
                wanted.hook.name, view.disk, dead_,
                EventSelection(wanted.hook.events, wanted.hook.filter, view.hash.get()), view.node),
            .make_endpoint = [this, settings](Endpoint::Callbacks callbacks) -> std::unique_ptr<Endpoint> {
                const auto& hook = settings.hook;
                if (!hook.command.empty())
                    return std::make_unique<CommandEndpoint>(context_, hook.name, hook.timeout, std::move(callbacks));
                return std::make_unique<WebEndpoint>(context_.loop, settings, std::move(callbacks));
            },
            .published = view.published,
            .report_problem = problems_.reporter(problem_name(wanted.hook.name))};
}

void Hooks::looked(const JournalWatch::View& view) {
    if (stopped_) return;
    for (const auto& [name, wanted] : wanted_) {
        if (leaving_.contains(name)) continue;
        auto& hook = hooks_[name];
        const auto used = used_.find(name);
        if (!hook)
            hook = std::make_unique<Hook>(context_.loop, context_.log, setup_of(wanted, view));
        else if (used == used_.end() || used->second != wanted)
            hook->use(setup_of(wanted, view));
        used_[name] = wanted;
    }
    for (const auto& [name, hook] : hooks_) hook->published(view.published);
}

void Hooks::stop(smtp::Duration within, std::function<void()> done) {
    stopped_ = std::move(done);
    watch_.reset();
    stopping_ = hooks_.size() + 1;
    const auto one = [this] {
        if (--stopping_ == 0) stopped_();
    };
    for (const auto& [name, hook] : hooks_) hook->stop(std::min(within / 2, longest_grace), one);
    one();
}

} // namespace events
