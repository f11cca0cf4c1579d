// One transaction in progress, in one or more rounds: a server accepts a limited number of recipients at once. Knows
// which recipients come next, which were accepted, and each one's verdict; sends nothing.
#pragma once
#include "libsmtp/session/client/sendability.h"
#include "libsmtp/session/client/transaction.h"
#include "libsmtp/text/time_types.h"
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace smtp {

// The server's limits for one round.
struct RoundLimits {
    std::size_t recipients = SIZE_MAX;
    std::size_t domains = SIZE_MAX; // of its recipients
};

class ActiveTransaction {
public:
    enum class Phase : std::uint8_t {
        waiting, // nothing of this round has been sent
        mail,    // to be sent next: (RSET and) MAIL …
        rcpt,    // … a further RCPT …
        data,    // … DATA …
        answer,  // … nothing until DATA is answered
        content, // … the message …
        dot,     // … nothing: everything has been sent, awaiting the reply
    };
    enum class Framing : std::uint8_t { data, chunked };

    explicit ActiveTransaction(Transaction transaction);

    const Transaction& message() const { return message_; }
    Phase phase() const { return phase_; }
    bool begun() const { return begun_; }                 // MAIL has been sent
    bool refused() const { return refused_; }             // MAIL was rejected, in this round
    bool mail_accepted() const { return mail_accepted_; } // in any round
    bool chunked() const { return chunked_; }             // BDAT in this round, not DATA
    bool got_421() const { return got_421_; }             // LMTP: a recipient was answered 421
    bool utf8() const { return utf8_; }                   // sent with SMTPUTF8
    bool rounds_left() const { return !pending_.empty(); }
    const std::vector<std::uint32_t>& accepted() const { return accepted_; } // of this round
    Monotonic started() const { return result_.started; }

    // --- what is sent, in the order of the phases
    // Rejects what the server cannot take; call before the first round.
    void drop_unsendable(const ServerTraits& server, Monotonic now);
    // False: no recipient is left.
    bool begin_round(const RoundLimits& limits, Monotonic now);
    // RFC 2852: BY= as it is sent now; nothing if the message has none, or the server does not offer it.
    std::optional<DeliverBy> deliver_by(const ServerExtensions& server, Monotonic now) const;
    // The next XFORWARD, with its line end; "" none is left in this round.
    std::string_view next_xforward(const ServerExtensions& server);
    void mail_sent() { phase_ = Phase::rcpt; }
    std::uint32_t next_recipient(); // whose RCPT is sent
    void data_sent() { phase_ = Phase::answer; }
    void begin_content(Framing framing);
    void content_sent() { phase_ = Phase::dot; }

    // --- what the server replies
    void accept_mail() { mail_accepted_ = true; }
    void refuse_mail(Verdict why);
    void accept_recipient(std::uint32_t recipient) { accepted_.push_back(recipient); }
    // 452, too many recipients: it may get a further round.
    void postpone_recipient(std::uint32_t recipient) { too_many_.push_back(recipient); }
    void note_421() { got_421_ = true; }
    // For the message, also for the recipients of further rounds.
    void refuse_message(Verdict why);
    void set_verdict(std::uint32_t recipient, Verdict verdict) { result_.set_verdict({recipient}, std::move(verdict)); }
    void set_verdict_of_accepted(Verdict verdict) { result_.set_verdict(accepted_, std::move(verdict)); }
    void refuse_pending(Verdict why);
    // Postponed recipients go into a further round. True: there are some.
    bool requeue_postponed();
    void end_round();
    // The previous transaction is over.
    void restart_clock(Monotonic now) { result_.started = now; }

    // --- its end
    enum class DsnRelayed : bool { no, yes };
    TransactionResult finish(DsnRelayed dsn, Monotonic now);
    // `why` applies to recipients without a verdict.
    TransactionResult interrupt(Verdict why, DsnRelayed dsn, Monotonic now);

private:
    std::vector<std::uint32_t> take_round(const RoundLimits& limits);

    Transaction message_;
    TransactionResult result_;
    std::vector<std::uint32_t> pending_;  // recipients of rounds to come
    std::vector<std::uint32_t> round_;    // recipients of this round
    std::vector<std::uint32_t> accepted_; // of this round
    std::vector<std::uint32_t> too_many_; // of this round: answered 452, may get a further round
    std::size_t asked_ = 0;               // of this round: RCPTs sent
    std::optional<std::string> xforward_; // of this round: its lines; nothing: not made yet
    std::size_t xforwarded_ = 0;          // bytes of them sent
    Phase phase_ = Phase::waiting;
    bool begun_ = false, mail_accepted_ = false, utf8_ = false;
    bool refused_ = false, chunked_ = false, got_421_ = false; // of this round
};

} // namespace smtp
