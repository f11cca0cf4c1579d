#include "daemons/queue-manager/spool/pending_records.h"

namespace queue_manager {

namespace {

spool::Categorized record_of(std::vector<std::uint32_t>&& recipients) {
    return {.recipients = std::move(recipients),
            .fate = spool::Fate::remote,
            .user = {},
            .target = {},
            .transport = {},
            .reverse_path = {}};
}

} // namespace

void PendingRecords::add(spool::QueueId id, std::span<const std::uint32_t> recipients) {
    if (recipients.empty()) return;
    auto& all = young_[id];
    if (auto before = old_.extract(id)) all = std::move(before.mapped());
    all.insert(all.end(), recipients.begin(), recipients.end());
}

std::optional<spool::Categorized> PendingRecords::take(spool::QueueId id) {
    for (Messages* messages : {&young_, &old_})
        if (auto found = messages->extract(id)) return record_of(std::move(found.mapped()));
    return {};
}

std::vector<std::pair<spool::QueueId, spool::Categorized>> PendingRecords::passed() {
    std::vector<std::pair<spool::QueueId, spool::Categorized>> out;
    out.reserve(old_.size());
    for (auto& [id, recipients] : old_) out.emplace_back(id, record_of(std::move(recipients)));
    old_ = std::exchange(young_, {});
    return out;
}

} // namespace queue_manager
