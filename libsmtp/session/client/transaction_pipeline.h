// The transactions of a client session, up to two: the second one's commands follow right behind the first one's final
// dot (RFC 2920), and their replies are read in order. Knows which command comes next, what the replies mean for each
// recipient, and when content is needed. Must not know how the session began, nor how it ends.
#pragma once
#include "libsmtp/protocol/outgoing_content.h"
#include "libsmtp/protocol/reply.h"
#include "libsmtp/session/client/active_transaction.h"
#include "libsmtp/session/client/client_event.h"
#include "libsmtp/session/client/client_options.h"
#include "libsmtp/session/client/command_stream.h"
#include "libsmtp/session/client/verdicts.h"
#include "libsmtp/text/time_types.h"
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace smtp {

class TransactionPipeline {
public:
    // Size limit for a message sent by BDAT: it is wasted if no recipient is accepted.
    static constexpr std::uint64_t chunk_limit = 64 * 1024;

    // All must outlive it. `extensions`: those of the last EHLO.
    TransactionPipeline(const ClientOptions& options, const ServerExtensions& extensions, CommandStream& commands,
                        EventQueue& events);
    TransactionPipeline(const TransactionPipeline&) = delete;
    TransactionPipeline& operator=(const TransactionPipeline&) = delete;

    // Mail may be sent now, over a connection with this protection.
    void start(ChannelSecurity security);
    bool is_started() const { return started_; }
    bool pipelining() const { return pipelining_; }

    bool has_room() const { return transactions_.size() < 2 && transactions_.size() < transactions_left(); }
    void add(Transaction transaction) { transactions_.emplace_back(std::move(transaction)); } // only if has_room()
    // Takes back the one added last, if nothing of it was sent.
    bool withdraw(std::uint64_t id);
    bool empty() const { return transactions_.empty(); }
    // The one that replies are about; nothing: there is none.
    std::optional<std::uint64_t> first() const {
        if (transactions_.empty()) return {};
        return transactions_.front().message().id;
    }
    // All of its content has been sent, or it is over.
    bool content_sent(std::uint64_t id) const;

    // Sends what may be sent now.
    void advance(Monotonic now);
    // The server accepts no further transaction, and none is in progress.
    bool exhausted() const;

    // The reply to the oldest unanswered command; nothing: the session continues.
    std::optional<Ending> take_mail(const Reply& reply, Monotonic now);
    std::optional<Ending> take_recipient(const Reply& reply, std::uint32_t recipient);
    std::optional<Ending> take_data(const Reply& reply, Monotonic now);
    std::optional<Ending> take_dot(const Reply& reply, std::uint32_t recipient, Monotonic now);
    // The reply to a message that has not been sent completely.
    Ending take_early(const Reply& reply);

    // The driver's answers to ContentRequested; the chunk's bytes must stay in place until the next one.
    void content(std::string_view chunk);
    void end_content(std::string_view last_chunk);
    // All output has been written.
    void written();

    bool sending_content() const;
    bool sending_chunk() const { return sending_content() && transactions_.front().chunked(); }
    bool message_fully_sent() const; // all of the first transaction's message, whose result is unknown
    // Nothing of the first transaction has been accepted, on a connection that has served others before.
    bool untouched_after_others() const;

    // How long the work in progress has taken, for time limits.
    struct Progress {
        std::optional<Monotonic> started = {}; // of the first transaction, if it has begun
        std::uint64_t size = 0;                // of its content, as announced
        Monotonic content_began = {};          // of the current content, or the last one
        std::uint64_t content_bytes = 0;       // written since
    };
    Progress progress() const;

    // The session ended with `why` while the first one was in progress; nothing: it has not begun.
    struct Interrupted {
        TransactionResult result;
        bool mail_accepted = false, chunked = false;
    };
    std::optional<Interrupted> interrupt(const Verdict& why, Monotonic now);

private:
    using Phase = ActiveTransaction::Phase;

    ActiveTransaction* next_to_send();
    void send_next(ActiveTransaction& active, Monotonic now);
    void begin_round(ActiveTransaction& active, Monotonic now);
    void send_mail(const ActiveTransaction& active, Monotonic now);
    void send_recipient(ActiveTransaction& active);
    void begin_data(ActiveTransaction& active, Monotonic now);
    void begin_content(ActiveTransaction& active, ActiveTransaction::Framing framing, Monotonic now);
    enum class Last : bool { no, yes };
    void send_content(ActiveTransaction& active, std::string_view chunk, Last last);
    bool uses_chunking(const ActiveTransaction& active) const;
    void requeue_postponed(ActiveTransaction& active);
    void end_round(ActiveTransaction& active, Monotonic now);
    void finish(ActiveTransaction& active, Monotonic now);
    ActiveTransaction::DsnRelayed dsn_relayed() const;
    Ending chunk_refused(const Reply& reply) const;
    std::size_t max_mails() const;
    std::size_t transactions_left() const; // besides those that are over
    bool all_written() const { return commands_.written() >= dot_at_; }

    const ClientOptions& options_;
    const ServerExtensions& extensions_;
    CommandStream& commands_;
    EventQueue& events_;
    ChannelSecurity security_ = ChannelSecurity::plain;
    bool started_ = false, pipelining_ = false;
    std::vector<ActiveTransaction> transactions_; // at most two; replies always belong to the first
    OutgoingContent codec_;                       // of the first transaction
    std::vector<std::string_view> views_;         // of a chunk, as it is sent
    std::uint64_t dot_at_ = 0;                    // where the last content's end is, in bytes since the beginning
    std::uint64_t content_from_ = 0;              // bytes written when the current content began, …
    Monotonic content_began_{};                   // … and when that was
    bool chunk_wanted_ = false;                   // once the last chunk has been written
    bool needs_reset_ = false;                    // the server is still in a transaction that failed
    std::size_t max_recipients_seen_ = SIZE_MAX;  // recipients per round that this server was seen to accept
    std::uint64_t completed_ = 0;                 // transactions
    std::uint64_t mails_ = 0;                     // MAILs sent
};

} // namespace smtp
