// The index of a sealed segment: for each key, the blocks that have an event with it. An LMDB file, written at once in
// the order of its keys, and then only read. A cache: where it is missing or no such file, the segment is read through.
#pragma once
#include "daemons/common/history/index_key.h"
#include "libspool/disk/disk.h"
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

struct MDB_env;

namespace history {

// The secret that the keys are made with, in the journal's directory.
inline constexpr std::string_view index_secret_file = "index.secret";
// Nothing: there is none, so that nothing is indexed yet; or it is no such file.
spool::Result<std::optional<std::string>> read_index_secret(spool::Disk& disk, const std::string& directory);

class SegmentIndex {
public:
    // Nothing: there is none, it is damaged, or of another secret or number of blocks.
    static std::optional<SegmentIndex> open(const std::string& path, const IndexHash& hash, std::uint64_t blocks);

    // The blocks that may have an event with one of the keys, in their order.
    std::vector<std::uint64_t> blocks_of(const std::vector<IndexKey>& keys) const;

private:
    struct Close {
        void operator()(MDB_env* environment) const;
    };
    explicit SegmentIndex(MDB_env* environment) : environment_(environment) {}
    std::unique_ptr<MDB_env, Close> environment_;
    unsigned database_ = 0;
};

// Writes an index. Its memory is bounded: what does not fit is left for another reading of the segment.
class IndexBuilder {
public:
    static constexpr std::size_t default_pairs = 1'500'000; // in memory: 12 MB of them

    // Creates the file, or replaces it. `blocks`: how many the segment has.
    static spool::Result<IndexBuilder> create(const std::string& path, const IndexHash& hash, std::uint64_t blocks,
                                              std::size_t most_pairs = default_pairs);
    IndexBuilder(IndexBuilder&&) noexcept;
    ~IndexBuilder();

    // A pass: every block of the segment, in order, each with the keys of its events; then end_pass(). True: the whole
    // segment must be added once more.
    void add(std::uint64_t block, std::vector<IndexKey>& keys);
    spool::Result<bool> end_pass();
    // Makes the file durable. To be called when end_pass() returned false.
    spool::Result<> finish();

private:
    class File;
    explicit IndexBuilder(std::unique_ptr<File> file, std::size_t most_pairs);
    void make_room();

    std::unique_ptr<File> file_;
    std::size_t most_pairs_;
    std::vector<std::uint64_t> pairs_; // key, then block in the low bits
    IndexKey from_ = 0, below_;        // keys of this pass
};

} // namespace history
