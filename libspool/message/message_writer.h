// Writes one message into its writer's directory: collected in memory and committed in a single job if it is of
// ordinary size, written to the file piece by piece if it is larger. Knows the file format; must not know where the
// bytes come from or which client waits for the commit.
#pragma once
#include "libspool/disk/commit_pool.h"
#include "libspool/format/content_scan.h"
#include "libspool/format/envelope.h"
#include "libspool/format/queue_id.h"
#include "libspool/message/content_memory.h"
#include "libspool/message/reusable_files.h"
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace spool {

struct WriterOptions {
    std::size_t max_buffered = 1024 * 1024; // contents up to this size stay in memory until commit
    std::size_t piece = 512 * 1024;         // beyond, pieces of this size go to the file
    ContentMemory* memory = nullptr; // counts what is held, lowers both limits when memory is short; must outlive all
};

class MessageWriter {
public:
    using Done = std::move_only_function<void(Result<DurableReceipt>)>;

    // `directory` is incoming/<slot of id>, which exists; it and the pool must outlive the message's work.
    MessageWriter(CommitPool& pool, SharedDirectory& directory, QueueId id, const Envelope& envelope,
                  const WriterOptions& options = {});
    // Abandons an uncommitted message.
    ~MessageWriter();
    MessageWriter(MessageWriter&&) noexcept;
    MessageWriter& operator=(MessageWriter&&) noexcept;

    QueueId queue_id() const;
    // CRLF lines, no dot-stuffing, our Received: field first. Copies the bytes.
    void append(std::string_view bytes);
    // Of what was appended so far.
    ContentFacts facts() const;
    std::uint64_t size() const;
    // Too much is waiting for the disk: stop reading from the client until `resume` is called (through the pool's
    // drain()). Never true for contents of ordinary size while memory is not scarce.
    bool wants_pause() const;
    void on_resume(std::move_only_function<void()> resume);
    // Drops everything appended so far; the content is what is appended from now on. (A filter has replaced the body:
    // its new content is written after the old one, whose durability was never promised, and a single sync is still
    // enough.)
    void start_over();
    // All of the content if it is in memory, else nothing. Valid until the next call.
    const std::string* at_hand() const;
    // A piece of the content from `offset`, up to `max` bytes, empty at its end; `done` comes through the
    // pool's drain(), unless the message was abandoned before.
    using Read = std::move_only_function<void(Result<std::string>)>;
    void read(std::uint64_t offset, std::size_t max, Read done);
    // Applies the changes of filters, before commit: replaces the original envelope. Its edits turn the header into
    // `edited_header`.
    void set_envelope(const Envelope& envelope, std::string_view edited_header = {});

    std::size_t recipients() const; // of the envelope
    // The envelope's bytes as written: the hint for Submitted.
    const std::string& encoded_envelope() const;

    // Bytes that commit() will write. Nothing: it must be the message's own file, because some of it is written
    // already, or because the message has an idempotency key or came from another
    // node: by that its file is looked for.
    std::optional<std::uint64_t> file_size() const;
    // commit() overwrites this file instead of creating one. Only where file_size() fits.
    void commit_to(std::shared_ptr<ReusableFile> file);
    // Writes what is left, seals, syncs file and directory, then calls `done` through the pool's drain() — even if this
    // object is gone by then. After an error nothing is left that could be mistaken for the message: the file is
    // finished and unlinked, a reused one as well. Error::code distinguishes ENOSPC/EDQUOT (452) from the rest (451).
    // Call once, last.
    void commit(Done done);
    // Drops the message and removes what is on disk.
    void abandon();

private:
    struct Draft;
    std::shared_ptr<Draft> draft_; // shared with the jobs in progress
};

} // namespace spool
