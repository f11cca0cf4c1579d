// The content of a ServerSession's message, by DATA or by BDAT: what is taken, and what is only read to its
// end because it is refused already. Must not know the other commands.
#include "libsmtp/session/server_session.h"
#include <fmt/format.h>

namespace smtp {

using Cause = event::Disconnect::Cause;

// --- DATA

void ServerSession::begin_content(State state) {
    state_ = state;
    in_content_ = true;
    skipped_ = window_bytes_ = 0;
    deadline_ = now_ + settings_->data_time;
    window_end_ = now_ + settings_->rate_window;
}

// A further chunk: its message has had its time already, and is measured as a whole.
void ServerSession::go_on_with_content() {
    state_ = State::chunk;
    in_content_ = true;
    skipped_ = 0;
    deadline_ = now_ + settings_->data_time;
}

std::optional<ServerEvent> ServerSession::next_content() {
    while (true) {
        const auto step = decoder_.decode(pending());
        begin_ += step.consumed;
        if (state_ == State::skip_content) {
            if (step.end) return end_of_content();
            skipped_ += step.run.size();
            if (skipped_ > settings_->skipped) {
                refuse_permanently(refused_);
                if (state_ != State::over) end(Cause::turned_away);
                return {};
            }
            if (step.consumed == 0 && step.run.empty()) return {};
            continue;
        }
        content_ += step.run.size();
        if (auto refusal = content_refusal()) return skip_content(*std::move(refusal));
        if (step.end) return end_of_content();
        if (!step.run.empty()) return event::Chunk{step.run};
        if (step.consumed == 0) return {};
    }
}

std::optional<Reply> ServerSession::content_refusal() const {
    const bool reject = settings_->content_lines == ServerSettings::ContentLines::reject;
    if (!rights_.bare_newlines && (decoder_.smuggled_dot() || (reject && decoder_.bare_line_break())))
        return Reply{550, {5, 5, 2}, "Message rejected: a line ends in a bare CR or LF"};
    if (settings_->message_size != 0 && content_ > settings_->message_size)
        return Reply{552, {5, 3, 4}, "Message size exceeds fixed limit"};
    return {};
}

// The message is refused already, but the client goes on until the dot: then it is told.
std::optional<ServerEvent> ServerSession::skip_content(Reply refusal) {
    state_ = State::skip_content;
    refused_ = std::move(refusal);
    refusal_ = event::Refused{Verb::end_of_message, refused_};
    end_transaction();
    return {};
}

std::optional<ServerEvent> ServerSession::end_of_content() {
    const bool refused = state_ == State::skip_content;
    state_ = State::command;
    in_content_ = false;
    after_content_ = true;
    if (!refused) return ask(Question::end_of_data, event::EndOfData{});
    refuse_permanently(std::exchange(refused_, {}));
    return {};
}

// --- BDAT

std::optional<ServerEvent> ServerSession::next_chunk() {
    while (true) {
        const auto here = pending().substr(0, chunk_left_);
        if (state_ == State::skip_chunk) window_bytes_ += here.size();
        if (state_ == State::skip_chunk) {
            begin_ += here.size();
            chunk_left_ -= here.size();
            if (chunk_left_ != 0) return {};
            state_ = State::command;
            in_content_ = false;
            refuse_permanently(std::exchange(refused_, {}));
            return {};
        }
        const auto step = decoder_.decode(here);
        begin_ += step.consumed;
        chunk_left_ -= step.consumed;
        window_bytes_ += step.consumed;
        content_ += step.run.size();
        if (auto refusal = content_refusal()) return skip_chunk(*std::move(refusal));
        if (!step.run.empty()) return event::Chunk{step.run};
        if (step.consumed != 0) continue;
        if (chunk_left_ != 0) return {};
        if (last_chunk_) return take_last_chunk();
        state_ = State::command;
        in_content_ = false;
        accept(250, {2, 0, 0}, fmt::format("Ok: {} bytes", chunk_size_));
        if (chunk_size_ == 0) count_junk();
        return {};
    }
}

std::optional<ServerEvent> ServerSession::take_last_chunk() {
    const auto rest = decoder_.finish();
    content_ += rest.size();
    if (auto refusal = content_refusal()) return skip_chunk(*std::move(refusal));
    if (!rest.empty()) return event::Chunk{rest};
    return end_of_content();
}

// Told when the chunk is over; nothing is left of the transaction from here on.
std::optional<ServerEvent> ServerSession::skip_chunk(Reply refusal) {
    refusal_ = event::Refused{Verb::bdat, refusal};
    end_transaction();
    if (chunk_left_ > settings_->skipped) { // not worth reading
        refuse_permanently(refusal);
        if (state_ != State::over) end(Cause::turned_away);
        return {};
    }
    state_ = State::skip_chunk;
    in_content_ = true;
    refused_ = std::move(refusal);
    deadline_ = now_ + settings_->data_time;
    window_bytes_ = 0;
    window_end_ = now_ + settings_->rate_window;
    return {};
}

} // namespace smtp
