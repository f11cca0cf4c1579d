#include "daemons/events/segment_indexer.h"
#include "daemons/common/history/segment_index.h"
#include "libspool/disk/durable_file.h"
#include "libspool/journal/journal_line.h"
#include "libspool/journal/segments/segment_blocks.h"
#include <nlohmann/json.hpp>

namespace events {

using spool::Result;

namespace {

constexpr std::string_view unfinished = ".new";

// The keys of all events of a block.
class BlockKeys {
public:
    explicit BlockKeys(const history::IndexHash& hash) : hash_(hash) {}
    std::vector<history::IndexKey>& of(std::string_view text, std::uint64_t& events) {
        all_.clear();
        spool::for_each_line(
            text,
            [&](const spool::JournalLine& line) {
                const auto event = nlohmann::json::parse(line.text, nullptr, false);
                if (!event.is_object()) return;
                ++events;
                hash_.keys_of(event, one_);
                all_.insert(all_.end(), one_.begin(), one_.end());
            },
            [](std::string_view) {});
        return all_;
    }

private:
    const history::IndexHash& hash_;
    std::vector<history::IndexKey> one_, all_;
};

} // namespace

Result<IndexedSegment> index_segment(spool::Disk& disk, const std::string& directory, const std::string& path,
                                     std::uint64_t first, const history::IndexHash& hash,
                                     const std::atomic<bool>& give_up) {
    const auto blocks = TRY(spool::open_segment(disk, directory, {.first = first, .sealed = true}));
    const auto count = TRY(blocks->count());
    const auto name = spool::segment_file(first, spool::index_suffix);
    const auto fresh = name + std::string(unfinished);
    IndexedSegment done;
    {
        auto builder = TRY(history::IndexBuilder::create(path + '/' + fresh, hash, count));
        BlockKeys keys(hash);
        for (bool again = true; again;) {
            done.events = 0;
            for (std::uint64_t block = 0; block < count; ++block) {
                if (give_up) {
                    done.given_up = true;
                    return done;
                }
                builder.add(block, keys.of(TRY(blocks->read(block)).text, done.events));
            }
            again = TRY(builder.end_pass());
        }
        TRY(builder.finish());
    }
    TRY(disk.rename(directory + '/' + fresh, directory + '/' + name));
    return done;
}

Result<std::string> index_secret(spool::Disk& disk, const std::string& directory, const std::string& random) {
    if (auto secret = TRY(history::read_index_secret(disk, directory))) return *std::move(secret);
    TRY(spool::replace_durably(disk, directory + '/' + std::string(history::index_secret_file), random));
    return random;
}

} // namespace events
