#include "libspool/message/reusable_files.h"
#include <algorithm>
#include <utility>

namespace spool {

std::shared_ptr<ReusableFile> ReusableFiles::lend(QueueId id, std::uint64_t bytes) {
    if (bytes > file_size) return nullptr;
    std::shared_ptr<ReusableFile> out;
    if (!free_.empty()) {
        out = std::move(free_.back());
        free_.pop_back();
    } else if (may_create_ > 0 && lent_.size() + passed_on_.size() < most_) {
        --may_create_;
        out = std::make_shared<ReusableFile>(id, File());
    } else {
        return nullptr;
    }
    lent_.emplace(out->name, out);
    return out;
}

void ReusableFiles::passed_on(QueueId name) { passed_on_.insert(lent_.extract(name)); }

void ReusableFiles::lost(QueueId name) {
    lent_.erase(name);
    passed_on_.erase(name);
}

void ReusableFiles::returned(QueueId name) {
    auto back = passed_on_.extract(name);
    if (back.empty()) return;
    free_.push_back(std::move(back.mapped()));
    may_create_ = std::min(may_create_ + 1, std::max(most_, first_files));
}

std::vector<QueueId> ReusableFiles::passed_on() const {
    std::vector<QueueId> out;
    out.reserve(passed_on_.size());
    for (const auto& [name, file] : passed_on_) out.push_back(name);
    return out;
}

} // namespace spool
