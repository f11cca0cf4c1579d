#include "libspool/message/message_writer.h"
#include "libspool/format/layout.h"
#include "libspool/format/record.h"
#include <deque>
#include <mutex>
#include <utility>

namespace spool {

// A message on its way to the disk, collected on the caller's thread; from
// the first spill or commit on, at most one job at a time works on it.
struct MessageWriter::Draft final : std::enable_shared_from_this<Draft>, ContentMemory::Holder {
    Draft(CommitPool& p, SharedDirectory& d, QueueId i, const Envelope& envelope, const WriterOptions& o)
        : pool(p), directory(d), id(i), options(o), path(d.path() + "/" + i.text()), envelope_bytes(encode(envelope)) {
        recipients = envelope.recipients.size();
        keyed = !envelope.idempotency_key.empty() || envelope.transferred;
        frame_envelope();
        content_offset = file_end = header_size + envelope_record.size();
        if (!options.memory) return;
        options.memory->join(*this);
        count();
    }
    ~Draft() {
        if (options.memory) options.memory->remove(counted);
    }
    std::size_t recipients = 0; // of the envelope
    bool keyed = false;         // it has an idempotency key, or came from another node
    void frame_envelope() {
        envelope_record.clear();
        append_record(envelope_record, id, Record{envelope_type, 0, true, 0, envelope_bytes});
    }

    CommitPool& pool;
    SharedDirectory& directory;
    const QueueId id;
    const WriterOptions options;
    std::string path;
    std::shared_ptr<ReusableFile> reused; // instead of a file of its own
    std::string envelope_bytes;
    std::string envelope_record;
    std::string edited_header;         // "": as appended
    std::uint64_t replaced_header = 0; // bytes of the content that it replaces
    std::uint64_t content_offset = 0;
    std::uint64_t file_end = 0;  // spilling: where the next piece goes
    bool envelope_moved = false; // spilling: it has grown, and is written after the content

    // The caller's side.
    ContentScan scan;
    std::string gathered; // content not handed to the jobs yet
    bool spilling = false;
    std::size_t counted = 0; // of what is held here, besides the pieces
    bool waiting = false;    // for memory
    std::move_only_function<void()> resume;

    // Between the caller and the job.
    struct Task { // to write `bytes` at `offset`, or to read `length` bytes from there
        std::string bytes;
        std::uint64_t offset = 0;
        std::size_t length = 0;
        Read read = {};
        std::size_t counted = 0;
    };
    std::mutex mutex;
    std::deque<Task> pieces;
    bool working = false;   // a job is posted or running
    bool abandoned = false; // the caller no longer waits for a read
    bool sealing = false;   // commit() was called: the rest of the pieces, then the seal
    bool wants_resume = false;
    Done done;

    // The job's side.
    File file;
    Result<> trouble;
    FileHeader header;
    std::uint64_t size_as_edited = 0;

    static constexpr std::size_t most_pieces = 4;

    std::string header_bytes() const {
        auto bytes = encode_header(header);
        bytes.resize(header_size, '\0'); // no log marks yet
        return bytes;
    }

    // The caller's side.
    void count() {
        if (!options.memory) return;
        const auto now = gathered.capacity() + envelope_bytes.capacity() + envelope_record.capacity();
        if (now == counted) return;
        if (now > counted)
            options.memory->add(now - counted);
        else
            options.memory->remove(counted - now);
        counted = now;
    }
    void spill() {
        if (gathered.empty()) return;
        const auto offset = file_end;
        file_end += gathered.size();
        hand_over(piece_of(offset));
        count();
    }
    // What was gathered, counted as a piece from now on.
    Task piece_of(std::uint64_t offset) {
        Task piece{std::exchange(gathered, {}), offset};
        piece.counted = piece.bytes.capacity();
        if (options.memory) options.memory->add(piece.counted);
        return piece;
    }
    void flush_to_file(std::size_t most) override {
        if (gathered.size() <= most) return;
        spilling = true;
        spill();
    }
    // No more callbacks to the caller from here on.
    void leave() {
        resume = nullptr;
        if (options.memory) options.memory->leave(*this);
    }
    // Pieces: the job's side, or after it.
    void written(const Task& piece) {
        if (options.memory) options.memory->remove(piece.counted);
    }
    void hand_over(Task piece) {
        bool post;
        {
            const std::lock_guard lock(mutex);
            pieces.push_back(std::move(piece));
            post = !std::exchange(working, true);
        }
        if (post) pool.post([self = shared_from_this()] { self->work(); });
    }

    // A larger message: piece after piece, then the seal.
    void work() {
        for (;;) {
            Task piece;
            {
                const std::lock_guard lock(mutex);
                if (abandoned) {
                    for (const auto& left : std::exchange(pieces, {})) written(left);
                    return forget();
                }
                if (pieces.empty()) {
                    working = false;
                    if (!sealing) return;
                    working = true;
                    break;
                }
                piece = std::move(pieces.front());
                pieces.pop_front();
                if (pieces.size() < most_pieces / 2 && std::exchange(wants_resume, false))
                    pool.complete([self = shared_from_this()] {
                        if (self->resume) self->resume();
                    });
            }
            if (trouble && !file) create();
            if (piece.read) {
                read(std::move(piece));
                continue;
            }
            const std::string_view part = piece.bytes;
            if (trouble) trouble = pool.disk().write(file, piece.offset, {&part, 1}); // else commit() will report it
            piece.bytes = {};
            written(piece);
        }
        if (!trouble) return fail(std::move(trouble).error());
        const auto head = header_bytes();
        const std::string_view record = envelope_record;
        if (envelope_moved)
            if (auto put = pool.disk().write(file, header.envelope_offset, {&record, 1}); !put)
                return fail(std::move(put).error());
        const std::string_view parts[] = {head, envelope_moved ? std::string_view() : record};
        if (auto sealed = pool.disk().write(file, 0, parts); !sealed) return fail(std::move(sealed).error());
        sync(file);
    }

    void read(Task piece) {
        Result<std::string> result = std::string(piece.length, '\0');
        if (!trouble) {
            result = std::unexpected(trouble.error());
        } else if (auto n = pool.disk().read(file, piece.offset, *result); n) {
            result->resize(*n);
        } else {
            result = std::unexpected(std::move(n).error());
        }
        pool.complete([self = shared_from_this(), read = std::move(piece.read), result = std::move(result)]() mutable {
            if (!self->abandoned) read(std::move(result)); // set on this very thread
        });
    }

    // A message of ordinary size: all of it in one job.
    void write_whole() {
        if (reused) return overwrite();
        create();
        if (!trouble) return fail(std::move(trouble).error());
        const auto head = header_bytes();
        const std::string_view parts[] = {head, envelope_record, gathered};
        if (auto put = pool.disk().write(file, 0, parts); !put) return fail(std::move(put).error());
        sync(file);
    }

    // The same into a reused file. A new one is filled, so that overwriting it never changes its size or its blocks.
    void overwrite() {
        const bool is_new = !reused->file;
        if (is_new) {
            create();
            if (!trouble) return fail(std::move(trouble).error());
            pool.disk().prefer_overwriting(file);
            reused->file = std::move(file);
        }
        const auto head = header_bytes();
        const auto used = head.size() + envelope_record.size() + gathered.size();
        const std::string rest(is_new ? ReusableFiles::file_size - used : 0, '\0');
        const std::string_view parts[] = {head, envelope_record, gathered, rest};
        if (auto put = pool.disk().write(reused->file, 0, std::span(parts).first(is_new ? 4 : 3)); !put)
            return fail(std::move(put).error());
        if (is_new) return sync(reused->file);
        auto receipt = pool.make_overwrite_durable(reused->file, commit());
        if (!receipt) return fail(std::move(receipt).error());
        finish(std::move(receipt));
    }

    void create() {
        auto made = pool.disk().open(path, Open::create);
        if (made)
            file = std::move(*made);
        else
            trouble = std::unexpected(std::move(made).error());
    }

    CommitPool::Commit commit() const { return {id, size_as_edited, reused ? reused->name : own_file}; }
    void sync(const File& written) {
        pool.make_durable(written, directory, commit(), [self = shared_from_this()](Result<DurableReceipt> receipt) {
            if (!receipt) return self->fail(std::move(receipt).error());
            self->file.close();
            self->finish(std::move(receipt));
        });
    }

    // The file is finished: never written or synced again, and nothing of it may be mistaken for a message.
    void fail(Error error) {
        remove();
        error.what = path + ": " + error.what;
        finish(std::unexpected(std::move(error)));
    }
    void remove() {
        if (reused) file = std::move(reused->file);
        if (!file) return; // never created: the file of that name, if any, is not ours
        file.close();
        (void)pool.disk().unlink(path); // if that fails, too, it is a complete unacknowledged message, or no message
    }
    void forget() { remove(); }

    void finish(Result<DurableReceipt> result) {
        pool.complete([self = shared_from_this(), result = std::move(result)]() mutable {
            auto call = std::move(self->done);
            self->gathered = {};
            self->count();
            if (call) call(std::move(result));
        });
    }
};

MessageWriter::MessageWriter(CommitPool& pool, SharedDirectory& directory, QueueId id, const Envelope& envelope,
                             const WriterOptions& options)
    : draft_(std::make_shared<Draft>(pool, directory, id, envelope, options)) {}

MessageWriter::~MessageWriter() { abandon(); }
MessageWriter::MessageWriter(MessageWriter&&) noexcept = default;
MessageWriter& MessageWriter::operator=(MessageWriter&& other) noexcept {
    if (this != &other) {
        abandon();
        draft_ = std::move(other.draft_);
    }
    return *this;
}

QueueId MessageWriter::queue_id() const { return draft_->id; }
ContentFacts MessageWriter::facts() const { return draft_->scan.facts(); }
std::uint64_t MessageWriter::size() const { return draft_->scan.size(); }
const std::string& MessageWriter::encoded_envelope() const { return draft_->envelope_bytes; }

std::optional<std::uint64_t> MessageWriter::file_size() const {
    if (draft_->spilling || draft_->keyed) return {};
    return header_size + draft_->envelope_record.size() + draft_->gathered.size();
}

void MessageWriter::commit_to(std::shared_ptr<ReusableFile> file) {
    draft_->path = path_of_reused(file->name);
    draft_->reused = std::move(file);
}

std::size_t MessageWriter::recipients() const { return draft_->recipients; }

void MessageWriter::append(std::string_view bytes) {
    Draft& d = *draft_;
    d.scan.append(bytes);
    d.gathered += bytes;
    auto most = d.spilling ? d.options.piece : d.options.max_buffered;
    if (d.options.memory) {
        d.count();
        d.options.memory->check_level();
        most = std::min(most, d.options.memory->buffer_limit());
    }
    if (d.gathered.size() <= most) return;
    d.spilling = true;
    d.spill();
    if (most == d.options.piece) d.gathered.reserve(most);
}

void MessageWriter::start_over() {
    Draft& d = *draft_;
    d.gathered.clear(); // keeps its capacity: as much is likely to come
    d.scan = {};
    d.content_offset = d.file_end; // where it is if nothing was spilled
}

const std::string* MessageWriter::at_hand() const { return draft_->spilling ? nullptr : &draft_->gathered; }

void MessageWriter::read(std::uint64_t offset, std::size_t max, Read done) {
    Draft& d = *draft_;
    const auto left = d.scan.size() - std::min(offset, d.scan.size());
    const auto length = static_cast<std::size_t>(std::min<std::uint64_t>(max, left));
    if (!d.spilling) {
        auto bytes = d.gathered.substr(static_cast<std::size_t>(d.scan.size() - left), length);
        d.pool.complete([draft = draft_, done = std::move(done), bytes = std::move(bytes)]() mutable {
            if (!draft->abandoned) done(std::move(bytes));
        });
        return;
    }
    d.spill();
    d.hand_over({{}, d.content_offset + d.scan.size() - left, length, std::move(done)});
}

void MessageWriter::set_envelope(const Envelope& envelope, std::string_view edited_header) {
    Draft& d = *draft_;
    auto bytes = encode(envelope);
    d.recipients = envelope.recipients.size();
    d.keyed = !envelope.idempotency_key.empty() || envelope.transferred;
    d.edited_header = edited_header;
    d.replaced_header = envelope.edits.header_size;
    if (bytes == d.envelope_bytes) return;
    d.envelope_bytes = std::move(bytes);
    d.frame_envelope();
    if (d.spilling)
        d.envelope_moved = true;
    else
        d.content_offset = d.file_end = header_size + d.envelope_record.size();
}

// The facts of the edited view. For a content in memory they are exact; for a larger one they may claim more about the
// header than is left after its edits, never less.
static ContentFacts facts_as_edited(const ContentFacts& stored, std::string_view edited_header,
                                    const std::string* body) {
    ContentScan scan;
    scan.append(edited_header);
    if (body) scan.append(*body);
    auto facts = stored;
    const auto view = scan.facts();
    const bool more = body == nullptr;
    facts.longest_line = more ? std::max(stored.longest_line, view.longest_line) : view.longest_line;
    facts.eight_bit = view.eight_bit || (more && stored.eight_bit);
    facts.eight_bit_header = view.eight_bit_header;
    facts.dot_line = view.dot_line || (more && stored.dot_line);
    facts.bare_lf_or_cr = view.bare_lf_or_cr || (more && stored.bare_lf_or_cr);
    facts.nul = view.nul || (more && stored.nul);
    facts.ends_with_newline = more ? stored.ends_with_newline : view.ends_with_newline;
    return facts;
}

bool MessageWriter::wants_pause() const {
    if (!draft_) return false; // committed
    Draft& d = *draft_;
    if (d.waiting) return true;
    const bool scarce = d.options.memory && d.options.memory->level() >= ContentMemory::Level::scarce;
    if (scarce) d.flush_to_file(ContentMemory::small);
    if (!d.spilling) return false; // all in memory
    {
        const std::lock_guard lock(d.mutex);
        if (!scarce) return d.wants_resume = d.pieces.size() >= Draft::most_pieces;
        if (d.pieces.empty() && !d.working) return false;
    }
    d.waiting = true;
    d.options.memory->wait([draft = std::weak_ptr(draft_)] {
        const auto still = draft.lock();
        if (!still || !std::exchange(still->waiting, false) || !still->resume) return;
        still->resume();
    });
    return true;
}

void MessageWriter::on_resume(std::move_only_function<void()> resume) {
    if (draft_) draft_->resume = std::move(resume);
}

void MessageWriter::commit(Done done) {
    auto draft = std::exchange(draft_, nullptr); // the jobs keep it alive from now on
    Draft& d = *draft;
    d.done = std::move(done);
    d.leave();
    auto facts = d.scan.facts();
    d.size_as_edited = facts.size;
    if (!d.edited_header.empty()) {
        const auto skipped = static_cast<std::size_t>(d.replaced_header);
        std::string body;
        if (!d.spilling) body = d.gathered.substr(std::min(skipped, d.gathered.size()));
        d.size_as_edited += d.edited_header.size() - skipped;
        facts = facts_as_edited(facts, d.edited_header, d.spilling ? nullptr : &body);
    }
    d.header =
        FileHeader{d.id, header_size, static_cast<std::uint32_t>(d.envelope_record.size()), d.content_offset, facts};
    if (!d.spilling) {
        d.pool.post([draft = std::move(draft)] { draft->write_whole(); });
        return;
    }
    bool post;
    {
        const std::lock_guard lock(d.mutex);
        if (!d.gathered.empty()) {
            const auto size = d.gathered.size();
            d.pieces.push_back(d.piece_of(d.file_end));
            d.file_end += size;
            d.count();
        }
        if (d.envelope_moved) d.header.envelope_offset = d.file_end;
        d.sealing = true;
        post = !std::exchange(d.working, true);
    }
    if (post) d.pool.post([draft = std::move(draft)] { draft->work(); });
}

void MessageWriter::abandon() {
    auto draft = std::exchange(draft_, nullptr);
    if (!draft) return;
    Draft& d = *draft;
    d.leave();
    d.gathered = {};
    d.count();
    if (!d.spilling) { // nothing on disk
        d.abandoned = true;
        return;
    }
    bool post;
    {
        const std::lock_guard lock(d.mutex);
        d.abandoned = true;
        post = !std::exchange(d.working, true);
    }
    if (post) d.pool.post([draft = std::move(draft)] { draft->work(); });
}

} // namespace spool
