// Reads one message file: header, envelope, property log and content, checking every checksum that is passed
// by. One open, one lock, one read for a message of ordinary size. Must not change the file.
#pragma once
#include "libspool/content_scan.h"
#include "libspool/disk.h"
#include "libspool/layout.h"
#include "libspool/message_state.h"
#include "libspool/queue_id.h"
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

namespace spool {

// The file is there and is no whole message.
struct Damaged {
    enum class How : std::uint8_t {
        unsealed, // never finished by its writer, or cut off: was never acknowledged
        damaged,  // magic, checksum or structure is wrong
        newer,    // written by a later version that says this one must not read it
    };
    How how = How::damaged;
    std::string what; // "content: checksum is 0x…, should be 0x…"
};

// What stands between a caller and a message: the world (open, read), or the file itself.
using ReadError = std::variant<Error, Damaged>;
std::string text_of(const ReadError& error);
template <class T = void> using ReadResult = std::expected<T, ReadError>;

// Does the reader lock the file, as who delivers it must?
enum class ReadLock : std::uint8_t { none, shared };

class MessageReader {
public:
    // Looks in `hint` first, then in the other place: a message moves while names travel. Error ENOENT: it is
    // in neither. The shared lock, if asked for, is held until the reader goes.
    static ReadResult<MessageReader> open(Disk& disk, QueueId id, Location hint,
                                          ReadLock lock = ReadLock::shared);
    // Any file (quarantine, bad/, an inspection command): the id is the header's.
    static ReadResult<MessageReader> open_path(Disk& disk, const std::string& path);

    QueueId queue_id() const { return id_; }
    Location location() const { return location_; }
    const Envelope& envelope() const { return state_.envelope; }
    // Envelope and property log. Recipient numbers count through state().recipients.
    const MessageState& state() const& { return state_; }
    MessageState state() && { return std::move(state_); }
    // Content is everywhere the content as edited by filters (Envelope::edits), which is as it was received
    // where nobody edited it. The checksum alone is that of the stored bytes.
    const ContentFacts& content() const { return content_; }
    std::uint64_t size() const { return content_.size; }

    // The whole content if it is at hand without another read, else nothing. Verified against its checksum.
    // Valid as long as the reader.
    bool is_small() const { return content_at_hand_; }
    // Only if is_small(): the bytes, after comparing the checksum.
    ReadResult<std::string_view> small_content();
    // A piece of content from `offset`, up to max bytes, empty at the end. Read in order from 0 the pieces'
    // checksum is kept, and the one that completes the content fails with Damaged if it does not agree: so
    // nobody can send the final dot without it. Valid until the next call. May block for a disk read of at
    // most `max` bytes.
    ReadResult<std::string_view> piece(std::uint64_t offset, std::size_t max = 256 * 1024);
    // All of it in one string (headers, small tools), at most `limit` bytes; the checksum is compared when
    // all is read.
    ReadResult<std::string> read_content(std::uint64_t limit = UINT64_MAX);
    // The header fields only, with their CRLFs, without the empty line; not checked against the checksum.
    ReadResult<std::string> read_header(std::uint64_t limit = 1024 * 1024);

    // Does an agent hold the shared lock, as who delivers the message does? Asked by locking the file, so for
    // readers that did not lock it themselves; nobody else gets a lock until the reader goes.
    bool held_by_another();

    // How the property log ended, for Store and inspection.
    std::uint64_t log_end() const { return log_end_; } // where the next record goes
    std::uint64_t log_begin() const { return log_begin_; }
    std::uint32_t next_sequence() const { return next_sequence_; }
    std::uint32_t unsynced_records() const { return unsynced_records_; }
    std::uint32_t log_generation() const { return log_generation_; } // how often it was started anew
    bool torn_tail() const { return torn_tail_; } // something unreadable behind log_end, to be overwritten

    MessageReader(MessageReader&&) = default;
    MessageReader& operator=(MessageReader&&) = default;

private:
    MessageReader() = default;
    ReadResult<> edit();
    static ReadResult<MessageReader> load(Disk& disk, File file, std::optional<QueueId> expected);

    Disk* disk_ = nullptr;
    File file_;
    QueueId id_;
    Location location_ = Location::incoming;
    MessageState state_;
    ContentFacts content_;
    std::uint64_t content_offset_ = 0;
    std::uint64_t skipped_ = 0;    // bytes of stored content that edited_ stands for
    std::string edited_;           // the header as edited; "" if it is as stored
    std::uint32_t stored_crc_ = 0; // of those bytes; if all is at hand, of the whole stored content
    std::string buffer_;           // the head of the file as first read
    bool content_at_hand_ = false; // buffer_ holds all of it
    bool content_checked_ = false;
    std::uint64_t next_piece_ = 0; // pieces up to here were read in order
    std::uint32_t running_crc_ = 0;
    std::string piece_;
    std::uint64_t log_begin_ = 0, log_end_ = 0;
    std::uint32_t next_sequence_ = 1;
    std::uint32_t unsynced_records_ = 0;
    std::uint32_t log_generation_ = 0;
    bool torn_tail_ = false;
};

} // namespace spool
