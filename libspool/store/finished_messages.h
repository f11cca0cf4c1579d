// index/finished: the messages finished last, so that a power cut which undoes their removal does not bring them back
// to be delivered a second time. A ring of entries, overwritten in place, synced by its owner a few times a second. A
// convenience: without it such messages are delivered again, and nothing else changes; it never decides whether mail is
// lost. Knows ids and checksums of headers; must not know why a message is finished.
#pragma once
#include "libspool/disk/disk.h"
#include "libspool/format/queue_id.h"
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

namespace spool {

struct FinishedMessage {
    QueueId id;
    std::uint32_t header_checksum =
        0; // checksum_of_header(): an id that a restored spool assigns again is another message
};

// By id, to look a message up.
class FinishedIndex {
public:
    void add(const FinishedMessage& message) { checksums_.insert_or_assign(message.id, message.header_checksum); }
    bool contains(QueueId id, std::uint32_t header_checksum) const {
        const auto found = checksums_.find(id);
        return found != checksums_.end() && found->second == header_checksum;
    }
    std::size_t size() const { return checksums_.size(); }

private:
    std::unordered_map<QueueId, std::uint32_t> checksums_;
};

class FinishedMessages {
public:
    // Entries: at 4,000 messages a second a minute's, which is longer than a kernel keeps a removal to itself.
    static constexpr std::size_t most_entries = 256 * 1024, fewest_entries = 4096;
    static constexpr std::size_t entry_size = 24;

    // `disk` must outlive it.
    explicit FinishedMessages(Disk& disk, std::size_t most = most_entries) : disk_(disk), most_(most) {}

    // Reads the file, or makes it if there is none or it is no such file: what it names. A new one takes at most a
    // thousandth of the file system, but has the fewest entries. May take some tens of
    // milliseconds. Error: it cannot be used; then add() does nothing.
    Result<FinishedIndex> open();
    // From any thread: a message whose file is about to be removed.
    void add(const FinishedMessage& message);
    bool has_unwritten() const;
    // Writes what was added, and makes it durable. One call at a time; on any thread. After an error the file is not
    // used again.
    Result<> write();

private:
    Result<FinishedIndex> read();
    Result<> make();

    Disk& disk_;
    const std::size_t most_;
    std::size_t entries_ = 0; // of the file
    File file_;
    std::uint64_t next_ = 1; // number of the next entry; its place is that modulo `entries_`
    mutable std::mutex mutex_;
    bool usable_ = false;
    std::vector<FinishedMessage> unwritten_;
};

} // namespace spool
