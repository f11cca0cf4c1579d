#include "daemons/common/runtime/pool_work.h"
#include <cassert>
#include <memory>
#include <utility>
#include <uv.h>

namespace common {

struct PoolWork::Job {
    PoolWork* owner; // null: it has gone
    std::function<void()> work, done;
    uv_work_t request{};
};

PoolWork::~PoolWork() {
    if (job_ != nullptr) job_->owner = nullptr;
}

void PoolWork::start(std::function<void()> work, std::function<void()> done) {
    assert(job_ == nullptr);
    job_ = new Job{.owner = this, .work = std::move(work), .done = std::move(done)};
    job_->request.data = job_;
    const int failed = uv_queue_work(
        &loop_.uv(), &job_->request, [](uv_work_t* request) { static_cast<Job*>(request->data)->work(); },
        [](uv_work_t* request, int) {
            const std::unique_ptr<Job> job(static_cast<Job*>(request->data));
            if (job->owner == nullptr) return;
            job->owner->job_ = nullptr;
            job->done();
        });
    assert(failed == 0 && "a work without a callback");
    static_cast<void>(failed);
}

} // namespace common
