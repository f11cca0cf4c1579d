#include "libsmtp/session/server_content.h"

namespace smtp {

using Kind = ContentReceiver::Step::Kind;

void ContentReceiver::begin_data(bool bare_newlines) {
    bare_newlines_ = bare_newlines;
    decoder_.reset(bare_newlines ? DataDecoder::Ending::dot_lf : DataDecoder::Ending::dot);
    mode_ = Mode::data;
    skipped_ = 0;
}

void ContentReceiver::announce_chunk(std::uint64_t size, bool last) {
    chunk_size_ = chunk_left_ = size;
    last_chunk_ = last;
}

void ContentReceiver::begin_first_chunk(bool bare_newlines) {
    bare_newlines_ = bare_newlines;
    decoder_.reset(DataDecoder::Ending::length);
    mode_ = Mode::chunk;
}

void ContentReceiver::skip_chunk(Reply refusal) {
    refusal_ = std::move(refusal);
    mode_ = Mode::skip_chunk;
}

ContentReceiver::Step ContentReceiver::next(std::string_view input, const ServerSettings& settings) {
    switch (mode_) {
    case Mode::data: return next_data(input, settings);
    case Mode::skip_data: return skip_data(input, settings);
    case Mode::chunk: return next_chunk(input, settings);
    case Mode::skip_chunk: {
        const auto here = input.substr(0, chunk_left_);
        chunk_left_ -= here.size();
        if (chunk_left_ != 0) return {Kind::needs_input, here.size()};
        return end(Kind::skipped, here.size());
    }
    case Mode::none: break;
    }
    return {};
}

ContentReceiver::Step ContentReceiver::end(Step::Kind kind, std::size_t consumed) {
    mode_ = Mode::none;
    return {kind, consumed};
}

bool ContentReceiver::refuses(const ServerSettings& settings) {
    const bool reject = settings.content_lines == ServerSettings::ContentLines::reject;
    if (!bare_newlines_ && (decoder_.smuggled_dot() || (reject && decoder_.bare_line_break())))
        refusal_ = {550, {5, 5, 2}, "Message rejected: a line ends in a bare CR or LF"};
    else if (settings.message_size != 0 && size_ > settings.message_size)
        refusal_ = {552, {5, 3, 4}, "Message size exceeds fixed limit"};
    else
        return false;
    return true;
}

ContentReceiver::Step ContentReceiver::next_data(std::string_view input, const ServerSettings& settings) {
    std::size_t consumed = 0;
    while (true) {
        const auto step = decoder_.decode(input.substr(consumed));
        consumed += step.consumed;
        size_ += step.run.size();
        if (refuses(settings)) { // but the client sends until the dot: it gets the reply then
            mode_ = Mode::skip_data;
            return {Kind::refused, consumed};
        }
        if (step.end) return end(Kind::message_end, consumed);
        if (!step.run.empty()) return {Kind::piece, consumed, step.run};
        if (step.consumed == 0) return {Kind::needs_input, consumed};
    }
}

ContentReceiver::Step ContentReceiver::skip_data(std::string_view input, const ServerSettings& settings) {
    std::size_t consumed = 0;
    while (true) {
        const auto step = decoder_.decode(input.substr(consumed));
        consumed += step.consumed;
        if (step.end) return end(Kind::skipped, consumed);
        skipped_ += step.run.size();
        if (skipped_ > settings.skipped) return {Kind::too_much, consumed};
        if (step.consumed == 0 && step.run.empty()) return {Kind::needs_input, consumed};
    }
}

ContentReceiver::Step ContentReceiver::next_chunk(std::string_view input, const ServerSettings& settings) {
    std::size_t consumed = 0;
    while (true) {
        const auto step = decoder_.decode(input.substr(consumed, chunk_left_));
        consumed += step.consumed;
        chunk_left_ -= step.consumed;
        size_ += step.run.size();
        if (refuses(settings)) return {Kind::refused, consumed};
        if (!step.run.empty()) return {Kind::piece, consumed, step.run};
        if (step.consumed != 0) continue;
        if (chunk_left_ != 0) return {Kind::needs_input, consumed};
        return last_chunk_ ? end_last_chunk(consumed, settings) : end(Kind::chunk_end, consumed);
    }
}

ContentReceiver::Step ContentReceiver::end_last_chunk(std::size_t consumed, const ServerSettings& settings) {
    const auto rest = decoder_.finish();
    size_ += rest.size();
    if (refuses(settings)) return {Kind::refused, consumed};
    if (!rest.empty()) return {Kind::piece, consumed, rest}; // the message's end comes next
    return end(Kind::message_end, consumed);
}

} // namespace smtp
