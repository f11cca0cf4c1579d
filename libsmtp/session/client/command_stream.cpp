#include "libsmtp/session/client/command_stream.h"
#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>

namespace smtp {
namespace {

// A command as it may be reported: of AUTH nothing but the mechanism.
std::string shown(Stage stage, std::string_view line) {
    if (stage != Stage::auth) return std::string(line);
    return line.starts_with("AUTH ") ? std::string(line.substr(0, line.find(' ', 5))) : "...";
}

} // namespace

Stage stage_of(Awaited what) {
    switch (what) {
    case Awaited::banner: return Stage::banner;
    case Awaited::ehlo:
    case Awaited::helo: return Stage::ehlo;
    case Awaited::starttls: return Stage::tls;
    case Awaited::auth: return Stage::auth;
    case Awaited::rset:
    case Awaited::xforward:
    case Awaited::mail: return Stage::mail;
    case Awaited::rcpt: return Stage::rcpt;
    case Awaited::data: return Stage::data;
    case Awaited::chunk: return Stage::content;
    case Awaited::dot: return Stage::final_dot;
    }
    return Stage::none;
}

void CommandStream::put(std::string_view text) {
    if (!pieces_.empty() && !pieces_.back().bytes)
        pieces_.back().size += text.size();
    else
        pieces_.push_back({nullptr, commands_.size(), text.size()});
    commands_ += text;
    queued_ += text.size();
}

void CommandStream::send(std::string_view command, Awaited what, std::uint32_t recipient) {
    put(command);
    expect(what, recipient);
    if (report_ == Report::nothing) return;
    const auto line = std::string_view(commands_).substr(0, commands_.size() - 2); // and what was before it
    const auto stage = stage_of(what);
    events_.push(
        client_event::CommandSent{stage, shown(stage, line.substr(line.rfind('\n') + 1)), recipient, transaction_});
}

void CommandStream::send_secret(std::string_view before, std::string_view secret) {
    commands_.reserve(commands_.size() + before.size() + secret.size() + 2); // no copies are left behind
    holds_secret_ = true;
    put(before);
    put(secret);
    send("\r\n", Awaited::auth);
}

void CommandStream::put_views(const std::vector<std::string_view>& views) {
    for (auto view : views) {
        pieces_.push_back({view.data(), 0, view.size()});
        queued_ += view.size();
    }
}

void CommandStream::discard() {
    pieces_.clear();
    commands_.clear();
    piece_ = 0;
}

CommandStream::Expected CommandStream::take_front() {
    const Expected front = expected_[expected_front_];
    if (++expected_front_ == expected_.size()) {
        expected_.clear();
        expected_front_ = 0;
    }
    return front;
}

void CommandStream::output(std::vector<std::string_view>& views) const {
    for (std::size_t i = piece_; i < pieces_.size(); ++i) {
        const Piece& piece = pieces_[i];
        views.emplace_back((piece.bytes ? piece.bytes : commands_.data()) + piece.offset, piece.size);
    }
}

void CommandStream::wrote(std::size_t bytes) {
    written_ += bytes;
    while (bytes > 0) {
        assert(piece_ < pieces_.size());
        Piece& piece = pieces_[piece_];
        const auto part = std::min(bytes, piece.size);
        piece.offset += part;
        piece.size -= part;
        bytes -= part;
        if (piece.size == 0) ++piece_;
    }
    if (piece_ < pieces_.size()) return;
    if (std::exchange(holds_secret_, false)) explicit_bzero(commands_.data(), commands_.size());
    discard();
}

} // namespace smtp
