// Reads one message file: header, envelope, property log and content, verifying every checksum on
// the way. One open, one lock, one read for a message of ordinary size. Must not change the file.
#pragma once
#include "libspool/disk/disk.h"
#include "libspool/format/content_scan.h"
#include "libspool/format/layout.h"
#include "libspool/format/queue_id.h"
#include "libspool/message/kept_files.h"
#include "libspool/message/log_fold_cache.h"
#include "libspool/message/message_state.h"
#include "libspool/message/read_error.h"
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace spool {

// Does the reader lock the file, as a delivery agent must?
enum class ReadLock : std::uint8_t { none, shared };

class MessageReader {
public:
    // Looks where `hint` says first, then everywhere else: a message may move while its name is passed on. Error
    // ENOENT: it is nowhere. What is in a reused file is read and verified as a whole at once, after the file is
    // locked: no byte of another message is ever taken for this one's. The shared lock, if requested, is held until the
    // reader is destroyed. `known`: what another reader of the same message has folded. Only what was appended since is
    // read then, and both see it from now on; so all that share it must be on one thread. Null: everything is read.
    static ReadResult<MessageReader> open(Disk& disk, QueueId id, FileHint hint, ReadLock lock = ReadLock::shared,
                                          std::shared_ptr<FoldedLog> known = {});
    // The same with the shared lock, over a reused file that is open already if it still holds this message and no
    // other; else as if there were none. `files` must outlive the reader.
    static ReadResult<MessageReader> open(KeptFiles& files, QueueId id, FileHint hint,
                                          std::shared_ptr<FoldedLog> known = {});
    // Any file (quarantine, bad/, an inspection command): the id is taken from the header. A reused file is recognized
    // by its name.
    static ReadResult<MessageReader> open_path(Disk& disk, const std::string& path);

    QueueId queue_id() const { return id_; }
    const FileHint& file() const { return at_; } // where it was found
    const Envelope& envelope() const { return folded_->state.envelope; }
    // Envelope and property log. Recipient numbers count through state().recipients.
    const MessageState& state() const& { return folded_->state; }
    MessageState state() && { return folded_.use_count() == 1 ? std::move(folded_->state) : folded_->state; }
    // For the next reader of this message.
    std::shared_ptr<FoldedLog> folded() const { return folded_; }
    // Content always means the content as edited by filters (Envelope::edits); without edits, that is the content as
    // received. Only the checksum is that of the stored bytes.
    const ContentFacts& content() const { return content_; }
    std::uint64_t size() const { return content_.size; }

    // The whole content if it is available without another read, else nothing. Verified against its checksum. Valid as
    // long as the reader.
    bool is_small() const { return content_at_hand_; }
    // Only if is_small(): the bytes, after comparing the checksum.
    ReadResult<std::string_view> small_content();
    // A piece of content from `offset`, up to max bytes, empty at the end. If the pieces are read in order from 0,
    // their checksum is computed, and the one that completes the content fails with Damaged if it does not match: so
    // the final dot cannot be sent without it. Valid until the next call. May block for a disk read of at most `max`
    // bytes.
    ReadResult<std::string_view> piece(std::uint64_t offset, std::size_t max = 256 * 1024);
    // All of it in one string (headers, small tools), at most `limit` bytes; the checksum is verified if everything was
    // read.
    ReadResult<std::string> read_content(std::uint64_t limit = UINT64_MAX);
    // The header fields only, with their CRLFs, without the empty line; not checked against the checksum.
    ReadResult<std::string> read_header(std::uint64_t limit = 1024 * 1024);

    // Does an agent hold the shared lock, as it does while delivering the message? Tested by locking the file for a
    // moment, so only for readers that did not lock it themselves.
    bool held_by_another();

    // The file as stored, for copies of it: bytes from `offset`, as many as there are. In a reused file it ends with
    // the content.
    Result<std::uint64_t> stored_size();
    Result<std::size_t> read_stored(std::uint64_t offset, std::span<char> into);
    std::uint32_t header_checksum() const { return header_checksum_; }

    // How the property log ended, for Store and inspection.
    std::uint64_t log_end() const { return folded_->log_end; } // where the next record goes
    std::uint64_t log_begin() const { return folded_->log_begin; }
    std::uint32_t next_sequence() const { return folded_->next_sequence; }
    std::uint32_t unsynced_records() const { return folded_->unsynced_records; }
    std::uint32_t log_generation() const { return folded_->log_generation; } // how often it was restarted
    bool torn_tail() const { return folded_->torn_tail; } // something unreadable after log_end, to be overwritten

    MessageReader(MessageReader&&) = default;
    MessageReader& operator=(MessageReader&&) = default;

private:
    MessageReader() = default;
    ReadResult<> edit();
    static ReadResult<MessageReader> load(Disk& disk, File& file, FileHint at, std::optional<QueueId> expected,
                                          std::shared_ptr<FoldedLog> known);

    Disk* disk_ = nullptr;
    LentFile file_;
    QueueId id_;
    FileHint at_ = Location::incoming;
    std::optional<std::uint64_t> size_in_reused_; // of what is this message's in a reused file
    std::uint32_t header_checksum_ = 0;
    std::shared_ptr<FoldedLog> folded_;
    ContentFacts content_;
    std::uint64_t content_offset_ = 0;
    std::uint64_t skipped_ = 0;    // bytes of stored content that edited_ replaces
    std::string edited_;           // the header as edited; "" if it is as stored
    std::uint32_t stored_crc_ = 0; // of those bytes; if everything is in memory, of the whole stored content
    std::string buffer_;           // the head of the file as first read
    bool content_at_hand_ = false; // buffer_ holds all of it
    bool content_checked_ = false;
    std::uint64_t next_piece_ = 0; // pieces up to here were read in order
    std::uint32_t running_crc_ = 0;
    std::string piece_;
};

} // namespace spool
