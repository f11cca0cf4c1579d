#include "daemons/common/delivery/message_cache.h"
#include <algorithm>
#include <utility>

namespace common {

spool::ReadResult<spool::MessageReader> MessageCache::open(spool::QueueId id, spool::FileHint hint) {
    std::shared_ptr<spool::FoldedLog> known;
    if (const auto shared = shared_.find(id); shared != shared_.end()) known = shared->second.lock();
    const bool is_new = !known;
    auto reader = spool::MessageReader::open(*files_, id, hint, std::move(known));
    if (!reader) return reader;
    const auto recipients = reader->state().recipients.size();
    if (is_new && recipients > 1) {
        shared_.insert_or_assign(id, reader->folded());
        if (shared_.size() > tidy_at_) {
            std::erase_if(shared_, [](const auto& each) { return each.second.expired(); });
            tidy_at_ = std::max<std::size_t>(64, 2 * shared_.size());
        }
    }
    if (recipients > many) last_ = reader->folded();
    return reader;
}

} // namespace common
