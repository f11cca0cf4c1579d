#include "daemons/common/history/segment_index.h"
#include "libspool/format/leb128.h"
#include <algorithm>
#include <array>
#include <cassert>
#include <cerrno>
#include <fcntl.h>
#include <lmdb.h>
#include <unistd.h>

namespace history {

using spool::Error;
using spool::Result;

namespace {

constexpr unsigned block_bits = 64 - index_key_bits;
constexpr std::uint64_t block_mask = (std::uint64_t{1} << block_bits) - 1;
constexpr IndexKey after_all_keys = IndexKey{1} << index_key_bits;
constexpr std::uint64_t index_version = 1;
constexpr unsigned flags = MDB_NOSUBDIR | MDB_NOLOCK | MDB_NORDAHEAD;
constexpr std::size_t address_space = std::size_t{4} << 30; // at most; a file is as long as what is in it
constexpr char head_key = 0;                                // one byte: before all keys

using KeyBytes = std::array<unsigned char, index_key_bits / 8>;
KeyBytes bytes_of(IndexKey key) { // in the order in which LMDB compares
    KeyBytes bytes;
    for (auto i = bytes.size(); i-- > 0; key >>= 8) bytes[i] = static_cast<unsigned char>(key);
    return bytes;
}

std::string head(const IndexHash& hash, std::uint64_t blocks) {
    std::string text;
    spool::leb128::put(text, index_version);
    spool::leb128::put(text, hash.check());
    spool::leb128::put(text, blocks);
    return text;
}

Error lmdb_error(const std::string& action, int code) {
    return {code > 0 ? code : EIO, action + ": " + mdb_strerror(code)};
}

// One key's blocks: the first, then how far each is from the one before it.
std::string encode_blocks(const std::uint64_t* from, const std::uint64_t* to) {
    std::string text;
    std::uint64_t last = 0;
    for (; from != to; ++from) {
        spool::leb128::put(text, (*from & block_mask) - last);
        last = *from & block_mask;
    }
    return text;
}

} // namespace

Result<std::optional<std::string>> read_index_secret(spool::Disk& disk, const std::string& directory) {
    const auto file = disk.open(directory + '/' + std::string(index_secret_file), spool::Open::read);
    if (!file && file.error().code == ENOENT) return std::nullopt;
    if (!file) return std::unexpected(file.error());
    std::string secret(index_secret_size, '\0');
    if (TRY(disk.read(*file, 0, secret)) < secret.size()) return std::nullopt;
    return secret;
}

void SegmentIndex::Close::operator()(MDB_env* environment) const { mdb_env_close(environment); }

std::optional<SegmentIndex> SegmentIndex::open(const std::string& path, const IndexHash& hash, std::uint64_t blocks) {
    MDB_env* environment = nullptr;
    if (mdb_env_create(&environment) != 0) return {};
    SegmentIndex index(environment);
    if (mdb_env_open(environment, path.c_str(), flags | MDB_RDONLY, 0) != 0) return {};
    MDB_txn* transaction = nullptr;
    if (mdb_txn_begin(environment, nullptr, MDB_RDONLY, &transaction) != 0) return {};
    char at_head = head_key;
    MDB_val key{1, &at_head}, value{};
    const auto wanted = head(hash, blocks);
    const bool good = mdb_dbi_open(transaction, nullptr, 0, &index.database_) == 0 &&
                      mdb_get(transaction, index.database_, &key, &value) == 0 &&
                      std::string_view(static_cast<const char*>(value.mv_data), value.mv_size) == wanted;
    mdb_txn_abort(transaction);
    if (!good) return {};
    return index;
}

std::vector<std::uint64_t> SegmentIndex::blocks_of(const std::vector<IndexKey>& keys) const {
    std::vector<std::uint64_t> blocks;
    MDB_txn* transaction = nullptr;
    if (mdb_txn_begin(environment_.get(), nullptr, MDB_RDONLY, &transaction) != 0) return blocks;
    for (const auto each : keys) {
        auto bytes = bytes_of(each);
        MDB_val key{bytes.size(), bytes.data()}, value{};
        if (mdb_get(transaction, database_, &key, &value) != 0) continue;
        std::string_view text(static_cast<const char*>(value.mv_data), value.mv_size);
        std::uint64_t block = 0, step = 0;
        while (!text.empty() && spool::leb128::take(text, step) == spool::leb128::Taken::whole)
            blocks.push_back(block += step);
    }
    mdb_txn_abort(transaction);
    std::ranges::sort(blocks);
    blocks.erase(std::unique(blocks.begin(), blocks.end()), blocks.end());
    return blocks;
}

// The LMDB file while it is written: in the order of its keys, committed in pieces, so that little of it is in memory.
class IndexBuilder::File {
public:
    static Result<std::unique_ptr<File>> create(const std::string& path) {
        ::unlink(path.c_str());
        auto file = std::make_unique<File>();
        file->path_ = path;
        const auto check = [&](int code) -> Result<> {
            if (code != 0) return std::unexpected(lmdb_error("create " + path, code));
            return {};
        };
        TRY(check(mdb_env_create(&file->environment_)));
        TRY(check(mdb_env_set_mapsize(file->environment_, address_space)));
        // Synced once, when it is whole.
        TRY(check(mdb_env_open(file->environment_, path.c_str(), flags | MDB_NOSYNC, 0600)));
        return file;
    }
    ~File() {
        if (transaction_ != nullptr) mdb_txn_abort(transaction_);
        if (environment_ != nullptr) mdb_env_close(environment_);
    }
    Result<> append(std::span<unsigned char> key, std::string_view value) {
        if (transaction_ == nullptr) TRY(begin());
        MDB_val k{key.size(), key.data()}, v{value.size(), const_cast<char*>(value.data())};
        if (const int code = mdb_put(transaction_, database_, &k, &v, MDB_APPEND); code != 0)
            return std::unexpected(lmdb_error("write " + path_, code));
        if (++in_transaction_ < puts_per_transaction) return {};
        return commit();
    }
    Result<> commit() {
        if (transaction_ == nullptr) return {};
        in_transaction_ = 0;
        if (const int code = mdb_txn_commit(std::exchange(transaction_, nullptr)); code != 0)
            return std::unexpected(lmdb_error("write " + path_, code));
        return {};
    }
    Result<> sync() {
        TRY(commit());
        if (const int code = mdb_env_sync(environment_, 1); code != 0)
            return std::unexpected(lmdb_error("sync " + path_, code));
        return {};
    }

private:
    static constexpr unsigned puts_per_transaction = 20'000;
    Result<> begin() {
        int code = mdb_txn_begin(environment_, nullptr, 0, &transaction_);
        if (code == 0) code = mdb_dbi_open(transaction_, nullptr, 0, &database_);
        if (code != 0) return std::unexpected(lmdb_error("write " + path_, code));
        return {};
    }
    std::string path_;
    MDB_env* environment_ = nullptr;
    MDB_txn* transaction_ = nullptr;
    MDB_dbi database_ = 0;
    unsigned in_transaction_ = 0;
};

IndexBuilder::IndexBuilder(std::unique_ptr<File> file, std::size_t most_pairs)
    : file_(std::move(file)), most_pairs_(most_pairs), below_(after_all_keys) {}
IndexBuilder::IndexBuilder(IndexBuilder&&) noexcept = default;
IndexBuilder::~IndexBuilder() = default;

Result<IndexBuilder> IndexBuilder::create(const std::string& path, const IndexHash& hash, std::uint64_t blocks,
                                          std::size_t most_pairs) {
    assert(blocks <= block_mask);
    IndexBuilder builder(TRY(File::create(path)), most_pairs);
    unsigned char key = head_key;
    TRY(builder.file_->append({&key, 1}, head(hash, blocks)));
    return builder;
}

void IndexBuilder::add(std::uint64_t block, std::vector<IndexKey>& keys) {
    std::ranges::sort(keys);
    keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
    for (const auto key : keys) {
        if (key < from_ || key >= below_) continue;
        if (pairs_.size() == most_pairs_) make_room();
        if (key < below_) pairs_.push_back(key << block_bits | block);
    }
}

// Leaves the upper half of the keys for another pass.
void IndexBuilder::make_room() {
    const auto middle = pairs_.begin() + static_cast<std::ptrdiff_t>(pairs_.size() / 2);
    std::ranges::nth_element(pairs_, middle);
    // All blocks of a key are in the same pass: one key alone always fits.
    below_ = std::max((*middle >> block_bits), from_ + 1);
    std::erase_if(pairs_, [&](std::uint64_t pair) { return pair >> block_bits >= below_; });
}

Result<bool> IndexBuilder::end_pass() {
    std::ranges::sort(pairs_);
    for (auto at = pairs_.data(), end = at + pairs_.size(); at != end;) {
        const auto key = *at >> block_bits;
        auto next = at;
        while (next != end && *next >> block_bits == key) ++next;
        auto bytes = bytes_of(key);
        TRY(file_->append(bytes, encode_blocks(at, next)));
        at = next;
    }
    pairs_.clear();
    from_ = below_;
    below_ = after_all_keys;
    return from_ != after_all_keys;
}

Result<> IndexBuilder::finish() { return file_->sync(); }

} // namespace history
