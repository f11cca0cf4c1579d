// What a client's conversation reports to its driver, in the order in which it happened. The driver takes the
// events from the queue; the queue knows nothing of what they mean.
#pragma once
#include "libsmtp/auth/sasl_client.h"
#include "libsmtp/delivery/stage.h"
#include "libsmtp/protocol/reply.h"
#include "libsmtp/session/client/transaction.h"
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace smtp {

namespace client_event {

// The server awaits our side of the TLS handshake; tls_up() or tls_failed() must follow. All that was in
// output() has been written by then.
struct StartTls {};
// A question, where Options::auth wants it: authenticate() or auth_failed() must follow, at once or later.
struct AuthRequested {
    SaslMechanism mechanism; // the strongest that both sides know and that may be used here
};
struct Ready {}; // greeting, EHLO, TLS and AUTH went well
// Where the dialogue is reported: a command that was put into output(), without CRLF; secrets of AUTH are left out.
struct CommandSent {
    Stage stage = Stage::none;
    std::string text;
    std::uint32_t recipient = 0;              // rcpt: its place in the transaction
    std::optional<std::uint64_t> transaction; // its id; nothing: of none
};
// … and the server's reply to it; of replies to AUTH, without the text.
struct ReplyReceived {
    Stage stage = Stage::none;   // none: no reply was awaited
    std::uint32_t recipient = 0; // rcpt, and final_dot in LMTP: its place in the transaction
    Reply reply;
    std::optional<std::uint64_t> transaction; // as above
};
// A question: content() with the next chunk (from the beginning when `from_start`), or content_end() with the
// last.
struct ContentRequested {
    std::uint64_t id = 0;
    bool from_start = true;
};
struct Finished {
    TransactionResult result;
};
// The conversation is over; what output() still holds (QUIT) may be written without waiting.
struct Ended {
    bool orderly = false;                         // after quit(), or the server's polite end between transactions
    Verdict why;                                  // if not orderly
    std::optional<TransactionResult> interrupted; // what was under way: verdicts where known, else `why`
    bool mail_accepted = false;                   // MAIL of the interrupted transaction had been accepted
    bool distrust_pipelining = false;             // replies did not match: connect again without pipelining
    bool distrust_chunking = false;               // BDAT went wrong: connect again without chunking
};

} // namespace client_event

using ClientEvent = std::variant<client_event::StartTls, client_event::AuthRequested, client_event::Ready,
                                 client_event::CommandSent, client_event::ReplyReceived, client_event::ContentRequested,
                                 client_event::Finished, client_event::Ended>;

class EventQueue {
public:
    void push(ClientEvent event) { events_.push_back(std::move(event)); }
    std::optional<ClientEvent> next() {
        if (front_ == events_.size()) {
            events_.clear();
            front_ = 0;
            return {};
        }
        return std::move(events_[front_++]);
    }

private:
    std::vector<ClientEvent> events_;
    std::size_t front_ = 0;
};

} // namespace smtp
