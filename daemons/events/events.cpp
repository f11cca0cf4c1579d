#include "daemons/events/events.h"
#include "daemons/common/config/config.h"
#include "daemons/common/text/units.h"
#include <cerrno>
#include <ctime>
#include <fmt/format.h>
#include <sched.h>
#include <utility>

namespace events {

using namespace std::chrono_literals;

namespace {

constexpr auto look_again = 5s, after_failure = 60s;

// The thread does nothing else. At normal priority, if the kernel refuses.
void become_idle() {
    const sched_param none{};
    ::sched_setscheduler(0, SCHED_IDLE, &none);
}

} // namespace

spool::Result<std::unique_ptr<Events>> Events::create(common::DaemonContext& context,
                                                      common::DaemonConfig daemon_config) {
    auto self = std::make_unique<Events>(context);
    self->reconfigure(std::move(daemon_config));
    return self;
}

Events::Events(common::DaemonContext& context)
    : context_(context), problems_(context.report_problem), hooks_(context, problems_),
      erasure_control_(context.loop, [this] { start_step(); }), timer_(context.loop, [this] { start_step(); }),
      step_ended_(context.loop, [this] { take(); }) {
    step_ended_.unref();
}

Events::~Events() { give_up_ = true; }

void Events::reconfigure(common::DaemonConfig daemon_config) {
    const auto& history = daemon_config.config.history;
    const auto path = history.path(daemon_config.config.spool.directory);
    if (path != path_) {
        keeper_.reset();
        erasures_ = std::make_shared<Erasures>();
        erasure_control_.use(path, erasures_);
    }
    path_ = path;
    limits_ = {.seconds = std::chrono::duration_cast<std::chrono::seconds>(history.keep).count(),
               .bytes = history.size};
    hooks_.reconfigure(daemon_config.config.hooks, path, daemon_config.config.smtp_client.tls_authorities,
                       daemon_config.secrets_as<proto::secrets::Hooks>());
    serve(daemon_config);
    if (!step_.joinable()) timer_.start(0s);
}

void Events::serve(common::DaemonConfig& daemon_config) {
    if (auto socket = daemon_config.take("hooks"); socket && !control_)
        control_ = std::make_unique<HookControl>(context_, hooks_, std::move(socket), daemon_config.operators,
                                                 [this](auto& server, const auto& request, const auto& body) {
                                                     return erasure_control_.handle(server, request, body);
                                                 });
    if (listener_) return listener_->expect(daemon_config.expected);
    listener_ = std::make_unique<ipc::Listener>(context_.loop, context_.log, daemon_config.take("events"),
                                                daemon_config.expected);
    listener_->serve<proto::relayed_control::Message>(proto::relayed_control::conversation, {proto::Role::http},
                                                      [this](ipc::Peer, auto channel) {
                                                          if (control_) control_->attach(std::move(channel));
                                                      });
}

void Events::start_step() {
    if (step_.joinable() || stopped_) return;
    if (!keeper_) {
        auto opened = JournalKeeper::open(path_, erasures_, hooks_.writing_dead_letters());
        if (!opened) return report_failure(opened.error());
        keeper_ = *std::move(opened);
    }
    auto limits = limits_;
    hooks_.each_need([&](std::uint64_t next, smtp::Duration hold) {
        limits.needs.push_back({next, std::chrono::duration_cast<std::chrono::seconds>(hold).count()});
    });
    step_ = std::jthread([this, keeper = keeper_, limits = std::move(limits)] {
        become_idle();
        result_ = keeper->work(limits, std::time(nullptr), give_up_);
        step_ended_.signal();
    });
}

void Events::take() {
    if (!step_.joinable()) return;
    step_.join();
    if (stopped_) return finish_stop();
    if (!result_) return report_failure(result_.error());
    if (!std::exchange(failure_, {}).empty()) problems_.set("journal", "");
    last_ = *result_;
    log(last_);
    report_size();
    // One segment at a time is removed: after a step of the clock there is time to correct it.
    const bool more = last_.step && last_.step->work != KeeperWork::remove;
    timer_.start(more ? smtp::Duration(0s) : smtp::Duration(look_again));
}

void Events::log(const KeeperReport& report) {
    if (!report.step) return;
    const auto first = report.step->first;
    switch (report.step->work) {
    case KeeperWork::seal:
    case KeeperWork::drop_plain: context_.log.info("journal: segment sealed first={}", first); break;
    case KeeperWork::index:
        context_.log.info("journal: segment indexed first={} events={}", first, report.events);
        break;
    case KeeperWork::erase:
        if (report.erased_all)
            context_.log.info("journal: address erased through={}", first);
        else if (report.events > 0)
            context_.log.info("journal: address erased from segment first={} events={}", first, report.events);
        break;
    case KeeperWork::remove: context_.log.info("journal: segment removed first={} size={}", first, report.bytes); break;
    }
}

void Events::report_size() {
    const auto fits = last_.time_that_fits;
    if (!fits) return problems_.set("journal size", "");
    const auto text = [](std::int64_t seconds) { return config::print_duration(std::chrono::seconds(seconds)); };
    constexpr std::int64_t day = 86'400, hour = 3600;
    const auto rounded = *fits >= 2 * day ? *fits / day * day : *fits >= 2 * hour ? *fits / hour * hour : *fits;
    problems_.set(
        "journal size",
        fmt::format("the journal has reached its size (history.size): at the present rate that is enough for {}, "
                    "and not for {} (history.keep): increase one or reduce the other",
                    text(rounded), text(limits_.seconds)));
}

void Events::report_failure(const spool::Error& error) {
    timer_.start(after_failure);
    if (error.what == failure_) return;
    failure_ = error.what;
    const auto text =
        fmt::format("journal {}: {}: it is recorded, but not compressed, indexed or removed", path_, error.what);
    context_.log.error("{}", text);
    problems_.set("journal", text);
}

void Events::stop(smtp::Duration within, std::function<void()> done) {
    timer_.stop();
    give_up_ = true;
    stopped_ = std::move(done);
    hooks_.stop(within, [this] {
        hooks_stopped_ = true;
        finish_stop();
    });
}

void Events::finish_stop() {
    if (hooks_stopped_ && !step_.joinable()) stopped_();
}

void Events::update_gauges(common::Metrics& metrics) {
    std::vector<proto::metrics::HookState> states;
    for (const auto& [name, hook] : hooks_.all())
        states.push_back({.hook = name,
                          .pushed = hook->counts().pushed,
                          .failed = hook->counts().failed,
                          .dead = hook->counts().dead,
                          .behind = hook->behind(),
                          .working = hook->is_working()});
    metrics.set_hooks(std::move(states));
    metrics.set(common::MetricId::journal_unindexed, static_cast<std::int64_t>(last_.unsealed + last_.unindexed));
}

std::string Events::status_text() {
    if (last_.unsealed + last_.unindexed == 0) return "journal indexed";
    return fmt::format("{} segments to seal, {} to index", last_.unsealed, last_.unindexed);
}

} // namespace events
