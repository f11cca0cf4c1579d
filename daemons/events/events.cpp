#include "daemons/events/events.h"
#include "daemons/common/config/config.h"
#include <cerrno>
#include <ctime>
#include <fmt/format.h>
#include <sched.h>
#include <utility>
#include <uv.h>

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

struct Events::Job {
    Events* owner; // null: it is gone
    std::shared_ptr<JournalKeeper> keeper;
    std::shared_ptr<std::atomic<bool>> give_up;
    KeepLimits limits;
    spool::Result<KeeperReport> result = KeeperReport{};
    uv_work_t request{};
};

spool::Result<std::unique_ptr<Events>> Events::create(common::DaemonContext& context,
                                                      common::DaemonConfig daemon_config) {
    auto self = std::make_unique<Events>(context);
    self->reconfigure(std::move(daemon_config));
    return self;
}

Events::Events(common::DaemonContext& context) : context_(context), timer_(context.loop, [this] { start_step(); }) {}

Events::~Events() {
    *give_up_ = true;
    if (job_ != nullptr) job_->owner = nullptr;
}

void Events::reconfigure(common::DaemonConfig daemon_config) {
    const auto& history = daemon_config.config.history;
    const auto path = history.path(daemon_config.config.spool.directory);
    if (path != path_) keeper_.reset();
    path_ = path;
    limits_ = {.seconds = std::chrono::duration_cast<std::chrono::seconds>(history.keep).count(),
               .bytes = history.size};
    if (job_ == nullptr) timer_.start(0s);
}

void Events::start_step() {
    if (job_ != nullptr || stopped_) return;
    if (!keeper_) {
        auto opened = JournalKeeper::open(path_);
        if (!opened) return report_failure(opened.error());
        keeper_ = *std::move(opened);
    }
    job_ = new Job{.owner = this, .keeper = keeper_, .give_up = give_up_, .limits = limits_};
    job_->request.data = job_;
    uv_queue_work(
        &context_.loop.uv(), &job_->request,
        [](uv_work_t* request) {
            become_idle();
            auto& job = *static_cast<Job*>(request->data);
            job.result = job.keeper->work(job.limits, std::time(nullptr), *job.give_up);
        },
        [](uv_work_t* request, int) {
            const std::unique_ptr<Job> job(static_cast<Job*>(request->data));
            if (job->owner == nullptr) return;
            job->owner->job_ = nullptr;
            job->owner->take(job->result);
        });
}

void Events::take(const spool::Result<KeeperReport>& result) {
    if (stopped_) return stopped_();
    if (!result) return report_failure(result.error());
    if (!std::exchange(failure_, {}).empty()) context_.report_problem("");
    last_ = *result;
    log(*result);
    // One segment at a time is removed: after a step of the clock there is time to correct it.
    const bool more = result->step && result->step->work != KeeperWork::remove;
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
    case KeeperWork::remove: context_.log.info("journal: segment removed first={} size={}", first, report.bytes); break;
    }
}

void Events::report_failure(const spool::Error& error) {
    timer_.start(after_failure);
    if (error.what == failure_) return;
    failure_ = error.what;
    const auto text =
        fmt::format("journal {}: {}: it is recorded, but not compressed, indexed or removed", path_, error.what);
    context_.log.error("{}", text);
    context_.report_problem(text);
}

void Events::stop(smtp::Duration, std::function<void()> done) {
    timer_.stop();
    *give_up_ = true;
    if (job_ == nullptr) return done();
    stopped_ = std::move(done);
}

void Events::update_gauges(common::Metrics& metrics) {
    metrics.set(common::MetricId::journal_unindexed, static_cast<std::int64_t>(last_.unsealed + last_.unindexed));
}

std::string Events::status_text() {
    if (last_.unsealed + last_.unindexed == 0) return "journal indexed";
    return fmt::format("{} segments to seal, {} to index", last_.unsealed, last_.unindexed);
}

} // namespace events
