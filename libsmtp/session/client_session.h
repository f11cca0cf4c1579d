// The client's side of an SMTP conversation, as a value: no socket, no file, no clock.
//
// The driver feeds it the server's bytes and asks for events; output() returns what must be written, as
// views, so that content is never copied. It holds up to two transactions at a time: the commands of the
// second follow directly after the final dot of the first (RFC 2920), and their replies are read in order.
//
// The same class speaks LMTP (RFC 2033). A short message that is the first of its conversation is sent
// with BDAT (RFC 3030), together with its commands, if the server offers CHUNKING and PIPELINING: this
// saves the wait for the reply to DATA. Later ones gain nothing, as their DATA follows the message before.
//
// Every transaction ends in exactly one of: Finished, Ended::interrupted, or (untouched, to be done
// elsewhere) being in neither when Ended comes.
//
// TLS is the driver's task: after StartTls it performs the handshake and reports the result; what the server
// offered in plain text is then discarded (RFC 3207, 4.2). So are passwords: the session chooses the mechanism
// and runs the exchange (RFC 4954), the driver supplies the account.
// Wrapped, StartTls is the first event, before the greeting (RFC 8314).
//
// Its parts: CommandStream (what is on its way), SessionOpening (up to AUTH), TransactionPipeline (mail) and
// SessionDeadline. What is left here is which reply is whose, and how the conversation ends.
#pragma once
#include "libsmtp/protocol/reply_parser.h"
#include "libsmtp/session/client/client_event.h"
#include "libsmtp/session/client/client_options.h"
#include "libsmtp/session/client/command_stream.h"
#include "libsmtp/session/client/extensions.h"
#include "libsmtp/session/client/session_deadline.h"
#include "libsmtp/session/client/session_opening.h"
#include "libsmtp/session/client/transaction.h"
#include "libsmtp/session/client/transaction_pipeline.h"
#include "libsmtp/session/client/verdicts.h"
#include "libsmtp/text/time_types.h"
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace smtp {

class ClientSession {
public:
    using Options = ClientOptions;
    using Timeouts = ClientTimeouts;
    using Pipelining = ClientOptions::Pipelining;
    using Chunking = ClientOptions::Chunking;
    using StartTls = ClientOptions::StartTls;
    using Auth = ClientAuth;
    using Extensions = ServerExtensions; // what EHLO offered
    static constexpr auto chunk_limit = TransactionPipeline::chunk_limit;

    // The connection is established at `now`; the greeting is awaited.
    ClientSession(Options options, Monotonic now);
    ClientSession(const ClientSession&) = delete;
    ClientSession& operator=(const ClientSession&) = delete;

    // Hands over a transaction; only if can_deliver().
    void deliver(Transaction transaction, Monotonic now);
    bool can_deliver() const { return !quitting_ && !over_ && transactions_.has_room(); }
    // The transaction handed over last is given back, if nothing of it was said to the server yet.
    bool withdraw(std::uint64_t id) { return !over_ && transactions_.withdraw(id); }
    // Nothing is under way.
    bool idle() const { return transactions_.is_started() && transactions_.empty(); }

    // Answers to ContentRequested. The chunk's bytes must stay where they are until the next ContentRequested,
    // Finished or Ended. content_end(): with the last chunk, if it is at hand. content_broken(): the message cannot
    // be read to its end; the conversation ends without the final dot, and `interrupted` is that transaction.
    void content(std::string_view chunk, Monotonic now);
    void content_end(Monotonic now, std::string_view last_chunk = {});
    void content_broken(std::string_view why);
    // All of that transaction's content has been sent, or it is over: its fate is the server's to tell.
    bool content_sent(std::uint64_t id) const { return over_ || transactions_.content_sent(id); }

    // QUIT after what is under way. Nothing more may be handed over.
    void quit(Monotonic now);

    // Answers to StartTls. What is fed from now on is what TLS has opened. `verified`: the certificate is
    // that of the host we meant. tls_failed(): why, in one line; the conversation ends.
    enum class Peer : std::uint8_t { unverified, verified };
    void tls_up(Peer peer, Monotonic now);
    void tls_failed(std::string_view why, Monotonic now);

    // Answers to AuthRequested. auth_failed(): why there is nothing to authenticate with, in one line; the
    // conversation ends.
    void authenticate(SaslClient client, Monotonic now);
    void auth_failed(std::string_view status, std::string_view why, Monotonic now);

    // What happened on the connection.
    void feed(std::string_view bytes, Monotonic now);
    void end_of_input(Monotonic now);                   // the server closed
    void broken(std::string_view error, Monotonic now); // "Connection reset by peer", "Broken pipe"
    void wrote(std::size_t bytes, Monotonic now);       // of output(), from its front
    void expired(Monotonic now);

    std::optional<ClientEvent> next() { return events_.next(); }
    // Appends what waits to be written. The views are good until the next call of anything else here.
    void output(std::vector<std::string_view>& views) const { commands_.output(views); }
    bool has_output() const { return commands_.has_output(); }
    std::optional<Monotonic> next_deadline() const { return deadline_.at(); }
    bool over() const { return over_; }
    const Extensions& extensions() const { return opening_.extensions(); }
    // The server's name in its greeting: printable, at most 255 bytes; "" if it gave none.
    const std::string& server_name() const { return opening_.server_name(); }

private:
    void take(const Reply& reply);
    void take_expected(const CommandStream::Expected& expected, const Reply& reply);
    void take_opening(Awaited what, const Reply& reply);
    void take_421(const Reply& reply);
    void take_unsolicited(const Reply& reply);
    void report_reply(const Reply& reply);
    void advance();
    void update_deadline();

    Stage stage() const;
    bool safe_to_close() const;
    Verdict connection_lost(std::string_view how) const;

    // How it ends.
    void end_by(const Ending& ending);
    void fail(Verdict why) { end(ended_by(std::move(why))); }
    void refuse(Verdict why);
    void mismatch(std::string_view why);
    void disconnect();
    client_event::Ended ended_by(Verdict why);
    void end(client_event::Ended ended);

    Options options_;
    Monotonic now_; // at the last call
    ReplyParser parser_;
    EventQueue events_;
    CommandStream commands_;
    SessionOpening opening_;
    TransactionPipeline transactions_;
    SessionDeadline deadline_;
    bool over_ = false, quitting_ = false;
};

} // namespace smtp
