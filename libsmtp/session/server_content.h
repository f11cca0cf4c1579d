// Receives the content of one message, by DATA or in chunks (BDAT): decodes it, applies the limits, and skips the rest
// of rejected content. Must not know commands, nor when a reply is sent.
#pragma once
#include "libsmtp/protocol/framing.h"
#include "libsmtp/protocol/reply.h"
#include "libsmtp/session/server_settings.h"
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

namespace smtp {

class ContentReceiver {
public:
    // A transaction begins: nothing of its message has been received.
    void begin_message() { size_ = 0; }

    // `bare_newlines`: the client may end lines, and the message, without CR.
    void begin_data(bool bare_newlines);
    // BDAT was parsed; one of the next three functions follows.
    void announce_chunk(std::uint64_t size, bool last);
    void begin_first_chunk(bool bare_newlines);
    void begin_next_chunk() { mode_ = Mode::chunk; }
    void skip_chunk(Reply refusal); // its bytes are read, then `refusal` is due

    struct Step {
        enum class Kind : std::uint8_t {
            needs_input,
            piece,       // of the content, decoded
            refused,     // take_refusal() says why; data is skipped from now on, a chunk only by skip_chunk()
            chunk_end,   // a chunk that is not the last was received
            message_end, // all was received
            skipped,     // all of the refused content was skipped: take_refusal() is due
            too_much,    // there is too much to skip: take_refusal() is due
        };
        Kind kind = Kind::needs_input;
        std::size_t consumed = 0;    // bytes of the input
        std::string_view piece = {}; // a view of the input, or of a constant
    };
    // After begin… or skip_chunk(), until an end. `input` may continue after the content.
    Step next(std::string_view input, const ServerSettings& settings);
    const Reply& refusal() const { return refusal_; }
    Reply take_refusal() { return std::exchange(refusal_, {}); }

    // Content is being received or skipped.
    bool active() const { return mode_ != Mode::none; }
    std::uint64_t size() const { return size_; } // of the message, decoded, so far
    std::uint64_t chunk_size() const { return chunk_size_; }
    std::uint64_t chunk_left() const { return chunk_left_; }

private:
    enum class Mode : std::uint8_t { none, data, skip_data, chunk, skip_chunk };

    Step next_data(std::string_view input, const ServerSettings& settings);
    Step skip_data(std::string_view input, const ServerSettings& settings);
    Step next_chunk(std::string_view input, const ServerSettings& settings);
    Step end_last_chunk(std::size_t consumed, const ServerSettings& settings);
    Step end(Step::Kind kind, std::size_t consumed);
    bool refuses(const ServerSettings& settings); // sets refusal_

    DataDecoder decoder_;
    Mode mode_ = Mode::none;
    bool bare_newlines_ = false, last_chunk_ = false;
    std::uint64_t size_ = 0, skipped_ = 0;
    std::uint64_t chunk_size_ = 0, chunk_left_ = 0;
    Reply refusal_;
};

} // namespace smtp
