// What is on its way to the server: the bytes that wait to be written, in order, and the replies that are still to come
// for the commands among them. Content is kept as views and never copied. Knows the form of commands, not why they are
// sent; where the dialogue is reported, each command becomes an event.
#pragma once
#include "libsmtp/delivery/stage.h"
#include "libsmtp/session/client/client_event.h"
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace smtp {

enum class Awaited : std::uint8_t { banner, ehlo, helo, starttls, auth, rset, xforward, mail, rcpt, data, chunk, dot };
Stage stage_of(Awaited what);

class CommandStream {
public:
    struct Expected {
        Awaited what;
        std::uint32_t recipient = 0; // rcpt, and dot in LMTP: its place in the transaction
    };
    enum class Report : std::uint8_t { nothing, commands };

    // `events` must outlive it.
    CommandStream(EventQueue& events, Report report) : events_(events), report_(report) {}
    CommandStream(const CommandStream&) = delete;
    CommandStream& operator=(const CommandStream&) = delete;

    // What is sent from now on belongs to that transaction, where it is reported.
    void of_transaction(std::uint64_t id) { transaction_ = id; }
    // A part of a command.
    void put(std::string_view text);
    // A command, or its last part: with CRLF, and with a reply to come.
    void send(std::string_view command, Awaited what, std::uint32_t recipient = 0);
    // A command that holds a secret, without CRLF; it is overwritten in memory once it has been written.
    void send_secret(std::string_view before, std::string_view secret);
    // The views' bytes must stay where they are until they have been written.
    void put_views(const std::vector<std::string_view>& views);
    // A reply to something that is no command.
    void expect(Awaited what, std::uint32_t recipient = 0) { expected_.push_back({what, recipient}); }
    // Drops what has not been written.
    void discard();

    bool awaits_reply() const { return expected_front_ < expected_.size(); }
    bool awaits(Awaited what) const { return awaits_reply() && front().what == what; }
    const Expected& front() const { return expected_[expected_front_]; } // of the replies to come
    Expected take_front();

    // Appends what waits to be written. The views are good until the next call that changes anything.
    void output(std::vector<std::string_view>& views) const;
    bool has_output() const { return piece_ < pieces_.size(); }
    void wrote(std::size_t bytes);
    // Bytes since the beginning.
    std::uint64_t queued() const { return queued_; }
    std::uint64_t written() const { return written_; }

private:
    struct Piece { // of output: a view, or a part of commands_
        const char* bytes;
        std::size_t offset, size;
    };

    EventQueue& events_;
    Report report_;
    std::optional<std::uint64_t> transaction_;
    std::string commands_;
    std::vector<Piece> pieces_;
    std::size_t piece_ = 0; // the first unwritten one
    std::uint64_t queued_ = 0, written_ = 0;
    bool holds_secret_ = false;      // commands_ does
    std::vector<Expected> expected_; // replies to come, in order, from expected_front_ on
    std::size_t expected_front_ = 0;
};

} // namespace smtp
