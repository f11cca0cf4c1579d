// The latest lines of a conversation, kept in case that the attempt fails and its record is to have them. Knows to
// which transaction and recipient each line belongs, so that the record of one message has nothing of another one.
// Pure; must not know what becomes of the lines.
#pragma once
#include "daemons/common/proto/delivery.h"
#include "libsmtp/session/client/client_event.h"
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace smtp_client {

class Dialogue {
public:
    // What is kept: longer lines are cut, and the oldest lines make room.
    static constexpr std::size_t most_lines = 100, longest_line = 160;

    // A conversation with that host begins: "mx.example.org[192.0.2.1]:25".
    enum class DotReplies : bool { one, of_each_recipient }; // SMTP, LMTP
    void begin(std::string_view relay, DotReplies dot_replies);
    void sent(const smtp::client_event::CommandSent& command);
    void received(const smtp::client_event::ReplyReceived& reply);
    // Its lines go.
    void transaction_over(std::uint64_t id);

    // Those of the connection and of that transaction. `recipients`: the numbers of its recipients, by their place in
    // it.
    std::vector<proto::delivery::DialogueLine> lines(std::uint64_t transaction,
                                                     const std::vector<std::uint32_t>& recipients) const;
    // Those of the connection alone.
    std::vector<proto::delivery::DialogueLine> setup_lines() const;

private:
    struct Line {
        std::optional<std::uint64_t> transaction; // nothing: of the connection
        std::optional<std::uint32_t> recipient;   // by its place; nothing: of all
        std::string text;
    };
    void add(Line line, std::string_view text);

    std::deque<Line> lines_;
    DotReplies dot_replies_ = DotReplies::one;
};

} // namespace smtp_client
