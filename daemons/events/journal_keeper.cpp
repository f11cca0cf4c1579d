#include "daemons/events/journal_keeper.h"
#include "daemons/common/history/address_hash.h"
#include "daemons/common/history/erasure.h"
#include "daemons/common/history/segment_index.h"
#include "daemons/common/runtime/random.h"
#include "daemons/events/segment_eraser.h"
#include "daemons/events/segment_indexer.h"
#include "libspool/journal/segments/sealed_segment.h"
#include "libspool/journal/segments/segment_sealer.h"
#include "libspool/journal/segments/segment_size.h"

namespace events {

using spool::Result;

namespace {

constexpr const char* here = "."; // the journal's directory, as its disk sees it

} // namespace

Result<std::unique_ptr<JournalKeeper>> JournalKeeper::open(const std::string& path, std::shared_ptr<Erasures> erasures,
                                                           std::shared_ptr<std::mutex> dead) {
    return std::make_unique<JournalKeeper>(path, TRY(spool::RealDisk::open_at(path)), std::move(erasures),
                                           std::move(dead));
}

JournalKeeper::JournalKeeper(std::string path, std::unique_ptr<spool::RealDisk> disk,
                             std::shared_ptr<Erasures> erasures, std::shared_ptr<std::mutex> dead)
    : path_(std::move(path)), disk_(std::move(disk)), erasures_(std::move(erasures)), dead_(std::move(dead)) {}

// The time of the oldest alone: the others are younger.
Result<std::vector<KeptSegment>> JournalKeeper::look() const {
    std::vector<KeptSegment> kept;
    for (const auto& segment : TRY(spool::list_segments(*disk_, here)))
        kept.push_back({.segment = segment, .bytes = spool::size_of_segment(*disk_, segment.first)});
    if (!kept.empty() && kept.front().segment.sealed)
        if (const auto table = TRY(spool::read_frames(*disk_, here, kept.front().segment.first)))
            kept.front().newest = table->newest;
    return kept;
}

// With a new secret, what was indexed before is indexed again.
Result<> JournalKeeper::load_secret() {
    if (!TRY(history::read_index_secret(*disk_, here)))
        for (const auto& segment : TRY(spool::list_segments(*disk_, here)))
            TRY(remove_file(segment.first, spool::index_suffix));
    hash_.emplace(TRY(index_secret(*disk_, here, common::random_bytes(history::index_secret_size))));
    return {};
}

Result<KeeperReport> JournalKeeper::work(const KeepLimits& limits, std::int64_t now, const std::atomic<bool>& give_up) {
    if (!hash_) TRY(load_secret());
    const auto segments = TRY(look());
    const auto published = TRY(spool::published_number(*disk_, here)).value_or(0);
    KeeperReport report;
    for (std::size_t i = 0; i + 1 < segments.size(); ++i) {
        report.unsealed += !segments[i].segment.sealed;
        report.unindexed += !segments[i].segment.indexed;
    }
    report.time_that_fits = time_that_fits(segments, limits, now);
    report.step = next_step(segments, published, limits, now, not_indexable_);
    // Before anything is indexed that is to be erased.
    if (!report.step || report.step->work == KeeperWork::index)
        if (TRY(erase(segments, give_up, report))) return report;
    if (!report.step) return report;
    const auto first = report.step->first;
    switch (report.step->work) {
    case KeeperWork::seal: TRY(seal(first, give_up)); break;
    case KeeperWork::drop_plain: TRY(remove_file(first, spool::plain_suffix)); break;
    case KeeperWork::index: TRY(index(first, give_up, report)); break;
    case KeeperWork::erase: break; // decided here, not by the plan
    case KeeperWork::remove:
        report.bytes = spool::size_of_segment(*disk_, first);
        TRY(remove(first));
        break;
    }
    return report;
}

Result<> JournalKeeper::seal(std::uint64_t first, const std::atomic<bool>& give_up) {
    auto sealer = TRY(spool::SegmentSealer::create(*disk_, here, first));
    for (bool more = true; more;) {
        if (give_up) return {};
        more = TRY(sealer.step());
    }
    return sealer.finish();
}

Result<> JournalKeeper::index(std::uint64_t first, const std::atomic<bool>& give_up, KeeperReport& report) {
    const auto done = index_segment(*disk_, here, path_, first, *hash_, give_up);
    if (!done) {
        not_indexable_.push_back(first); // it is read through instead, until the next start
        return std::unexpected(done.error());
    }
    report.events = done->events;
    return {};
}

// One segment, the first that is not done; when there is none left, the dead letters.
Result<bool> JournalKeeper::erase(const std::vector<KeptSegment>& segments, const std::atomic<bool>& give_up,
                                  KeeperReport& report) {
    TRY(erasures_->load(*disk_, here));
    auto current = erasures_->current();
    if (!current) return false;
    const auto secret = TRY(history::read_address_secret(*disk_, here));
    const auto hash = secret ? std::optional(history::AddressHash(*secret)) : std::nullopt;
    const history::Erasure erasure(current->address, hash ? &*hash : nullptr);
    for (const auto& each : segments) {
        const auto first = each.segment.first;
        if (first < current->next || first > current->through) continue;
        if (!each.segment.sealed) return false; // that comes first
        const auto done = TRY(erase_from_segment(*disk_, here, first, erasure, give_up));
        if (done.given_up) return true;
        current->next = first + 1;
        current->events += done.events;
        current->segments += done.events > 0;
        report.step = KeeperStep{KeeperWork::erase, first};
        report.events = done.events;
        TRY(erasures_->update(*disk_, here, *current, Erasures::Progress::some));
        return true;
    }
    current->given_up += TRY(erase_from_dead_letters(*disk_, here, erasure, *dead_));
    TRY(erasures_->update(*disk_, here, *current, Erasures::Progress::finished));
    report.step = KeeperStep{KeeperWork::erase, current->through};
    report.erased_all = true;
    return true;
}

Result<> JournalKeeper::remove_file(std::uint64_t first, std::string_view suffix) {
    const auto removed = disk_->unlink(spool::segment_file(first, suffix));
    if (!removed && removed.error().code != ENOENT) return removed;
    return {};
}

// What makes it a segment goes last: after a kill the rest is removed in another turn.
Result<> JournalKeeper::remove(std::uint64_t first) {
    for (const auto suffix : {spool::index_suffix, spool::frames_suffix, spool::sealed_suffix, spool::plain_suffix})
        TRY(remove_file(first, suffix));
    return {};
}

} // namespace events
