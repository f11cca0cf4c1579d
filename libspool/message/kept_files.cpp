#include "libspool/message/kept_files.h"

namespace spool {

File KeptFiles::take(QueueId name) {
    const auto place = places_.extract(name);
    if (place.empty()) return {};
    File out = std::move(place.mapped()->second);
    files_.erase(place.mapped());
    return out;
}

void KeptFiles::give_back(QueueId name, File file) {
    if (most_ == 0 || places_.contains(name) || !disk_.unlock(file)) return; // closed, and by that unlocked
    if (places_.size() == most_) {
        places_.erase(files_.front().first);
        files_.pop_front();
    }
    places_.emplace(name, files_.emplace(files_.end(), name, std::move(file)));
}

void KeptFiles::clear() {
    places_.clear();
    files_.clear();
}

} // namespace spool
