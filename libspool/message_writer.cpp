#include "libspool/message_writer.h"
#include "libspool/record.h"
#include <deque>
#include <mutex>
#include <utility>

namespace spool {

// A message on its way to the disk. Gathered on the caller's thread; from the first spill or commit on, at
// most one job at a time works on it.
struct MessageWriter::Draft : std::enable_shared_from_this<Draft> {
    Draft(CommitPool& p, SharedDirectory& d, QueueId i, const Envelope& envelope, const WriterOptions& o)
        : pool(p), directory(d), id(i), options(o), path(d.path() + "/" + i.text()),
          envelope_bytes(encode(envelope)) {
        append_record(envelope_record, id, Record{envelope_type, 0, true, 0, envelope_bytes});
        content_offset = header_size + envelope_record.size();
    }

    CommitPool& pool;
    SharedDirectory& directory;
    const QueueId id;
    const WriterOptions options;
    const std::string path;
    const std::string envelope_bytes;
    std::string envelope_record;
    std::uint64_t content_offset = 0;

    // The caller's side.
    ContentScan scan;
    std::string gathered; // content not handed to the jobs yet
    bool spilling = false;
    std::move_only_function<void()> resume;

    // Between the caller and the job.
    std::mutex mutex;
    std::deque<std::string> pieces;
    bool working = false; // a job is posted or running
    bool abandoned = false;
    bool sealing = false; // commit() was called: the rest of the pieces, then the seal
    bool wants_resume = false;
    Done done;

    // The job's side.
    File file;
    std::uint64_t written = 0; // of the content
    Result<> trouble;
    FileHeader header;

    static constexpr std::size_t most_pieces = 4;

    std::string header_bytes() const {
        auto bytes = encode_header(header);
        bytes.resize(header_size, '\0'); // no log marks yet
        return bytes;
    }

    void hand_over(std::string piece) {
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
            std::string piece;
            {
                const std::lock_guard lock(mutex);
                if (abandoned) return forget();
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
            if (!trouble) continue; // the rest is swallowed; commit() will say so
            const std::string_view part = piece;
            trouble = pool.disk().write(file, content_offset + written, {&part, 1});
            written += piece.size();
        }
        if (!trouble) return fail(std::move(trouble).error());
        const auto head = header_bytes();
        const std::string_view parts[] = {head, envelope_record};
        if (auto sealed = pool.disk().write(file, 0, parts); !sealed) return fail(std::move(sealed).error());
        sync();
    }

    // A message of ordinary size: all of it in one job.
    void write_whole() {
        create();
        if (!trouble) return fail(std::move(trouble).error());
        const auto head = header_bytes();
        const std::string_view parts[] = {head, envelope_record, gathered};
        if (auto put = pool.disk().write(file, 0, parts); !put) return fail(std::move(put).error());
        sync();
    }

    void create() {
        auto made = pool.disk().open(path, Open::create);
        if (made)
            file = std::move(*made);
        else
            trouble = std::unexpected(std::move(made).error());
    }

    void sync() {
        pool.make_durable(file, directory, id, header.content.size,
                          [self = shared_from_this()](Result<DurableReceipt> receipt) {
                              if (!receipt) return self->fail(std::move(receipt).error());
                              self->file.close();
                              self->finish(std::move(receipt));
                          });
    }

    // The file is finished: never written or synced again, and nothing of it may be taken for a message.
    void fail(Error error) {
        remove();
        error.what = path + ": " + error.what;
        finish(std::unexpected(std::move(error)));
    }
    void remove() {
        if (!file) return; // never created: the name, if there is one, is not ours
        file.close();
        (void)pool.disk().unlink(
            path); // if that fails too it is a complete message nobody was promised, or no message
    }
    void forget() { remove(); }

    void finish(Result<DurableReceipt> result) {
        pool.complete([self = shared_from_this(), result = std::move(result)]() mutable {
            auto call = std::move(self->done);
            self->gathered = {};
            if (call) call(std::move(result));
        });
    }
};

MessageWriter::MessageWriter(CommitPool& pool, SharedDirectory& directory, QueueId id,
                             const Envelope& envelope, const WriterOptions& options)
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

void MessageWriter::append(std::string_view bytes) {
    Draft& d = *draft_;
    d.scan.append(bytes);
    d.gathered += bytes;
    if (d.gathered.size() <= (d.spilling ? d.options.piece : d.options.gather)) return;
    d.spilling = true;
    d.hand_over(std::exchange(d.gathered, {}));
    d.gathered.reserve(d.options.piece);
}

bool MessageWriter::wants_pause() const {
    if (!draft_ || !draft_->spilling) return false; // committed, or all in memory
    Draft& d = *draft_;
    const std::lock_guard lock(d.mutex);
    return d.wants_resume = d.pieces.size() >= Draft::most_pieces;
}

void MessageWriter::on_resume(std::move_only_function<void()> resume) {
    if (draft_) draft_->resume = std::move(resume);
}

void MessageWriter::commit(Done done) {
    auto draft = std::exchange(draft_, nullptr); // the jobs keep it now
    Draft& d = *draft;
    d.done = std::move(done);
    d.resume = nullptr;
    d.header = FileHeader{d.id, header_size, static_cast<std::uint32_t>(d.envelope_record.size()),
                          d.content_offset, d.scan.facts()};
    if (!d.spilling) {
        d.pool.post([draft = std::move(draft)] { draft->write_whole(); });
        return;
    }
    bool post;
    {
        const std::lock_guard lock(d.mutex);
        if (!d.gathered.empty()) d.pieces.push_back(std::move(d.gathered));
        d.sealing = true;
        post = !std::exchange(d.working, true);
    }
    if (post) d.pool.post([draft = std::move(draft)] { draft->work(); });
}

void MessageWriter::abandon() {
    auto draft = std::exchange(draft_, nullptr);
    if (!draft || !draft->spilling) return; // nothing on disk
    Draft& d = *draft;
    d.resume = nullptr;
    bool post;
    {
        const std::lock_guard lock(d.mutex);
        d.abandoned = true;
        post = !std::exchange(d.working, true);
    }
    if (post) d.pool.post([draft = std::move(draft)] { draft->work(); });
}

} // namespace spool
