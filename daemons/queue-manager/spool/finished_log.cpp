#include "daemons/queue-manager/spool/finished_log.h"

namespace queue_manager {

std::shared_ptr<const spool::FinishedIndex> FinishedLog::open() {
    auto index = messages_.open();
    if (index) return std::make_shared<const spool::FinishedIndex>(*std::move(index));
    written(std::unexpected(std::move(index).error()));
    return nullptr;
}

void FinishedLog::write() {
    if (writing_ || !messages_.has_unwritten()) return;
    writing_ = true;
    pool_.post([this, &pool = pool_, &messages = messages_] { // by then this may be destroyed; they are not
        auto result = messages.write();
        pool.complete([this, result = std::move(result)] {
            writing_ = false;
            written(result);
            if (messages_.has_unwritten()) timer_.start(pause_);
        });
    });
}

void FinishedLog::finish() {
    if (!writing_) written(messages_.write());
}

void FinishedLog::written(const spool::Result<>& result) {
    if (result) return;
    log_.error("index/finished: {}: after a power cut, messages delivered last may be delivered again",
               result.error().what);
    problems_.report("finished", "index/finished cannot be written: " + result.error().what);
}

} // namespace queue_manager
