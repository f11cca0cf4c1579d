#include "daemons/queue-manager/requests/content_requests.h"
#include "daemons/common/proto/control.h"
#include "libsmtp/text/base64.h"
#include "libspool/message/message_reader.h"
#include <fmt/format.h>
#include <string>
#include <utility>

namespace queue_manager {

namespace code = proto::control::code;

namespace {

struct Piece {
    std::string bytes;
    std::uint64_t size = 0; // of the content
    std::string failure;    // "" none
    std::string_view failure_code;
};

spool::ReadResult<spool::MessageReader> open_message(spool::Disk& disk, spool::QueueId id) {
    auto reader = spool::MessageReader::open(disk, id, spool::Location::messages, spool::ReadLock::none);
    if (!reader && spool::is_gone(reader.error()))
        return spool::MessageReader::open_path(disk, spool::path_of_failed(id));
    return reader;
}

// Pieces that are read in their order are compared with the checksum.
spool::ReadResult<> verify(spool::MessageReader& reader) {
    for (std::uint64_t at = 0; at < reader.size();) {
        const auto piece = reader.piece(at);
        if (!piece) return std::unexpected(piece.error());
        at += piece->size();
    }
    return {};
}

Piece failed(spool::QueueId id, const spool::ReadError& error) {
    Piece out;
    const bool gone = spool::is_gone(error);
    out.failure = gone ? fmt::format("message {} is neither queued nor kept", id.text())
                       : fmt::format("{}: {}", id.text(), spool::text_of(error));
    out.failure_code = gone ? code::unknown : code::failed;
    return out;
}

Piece read_piece(spool::Disk& disk, spool::QueueId id, std::uint64_t offset) {
    auto reader = open_message(disk, id);
    if (!reader) return failed(id, reader.error());
    if (offset == 0)
        if (const auto whole = verify(*reader); !whole) return failed(id, whole.error());
    Piece out;
    out.size = reader->size();
    const auto piece = reader->piece(offset, ContentRequests::largest_piece);
    if (!piece) return failed(id, piece.error());
    out.bytes = *piece;
    return out;
}

} // namespace

void ContentRequests::read(const Request& request, const nlohmann::json& body) {
    const auto text = body.value("id", std::string());
    const auto id = spool::QueueId::parse(text);
    if (!id) return replies_.refuse(request, fmt::format("\"{}\" is not a queue id", text), code::bad_request);
    if (waiting_.size() >= most_waiting)
        return replies_.refuse(request, "too many messages are being read", code::unavailable);
    waiting_.push_back({request, *id, body.value("offset", std::uint64_t{0})});
    if (waiting_.size() == 1) begin();
}

void ContentRequests::begin() {
    pool_.post([this, &pool = pool_, id = waiting_.front().id, offset = waiting_.front().offset] {
        auto piece = read_piece(pool.disk(), id, offset);
        pool.complete([this, piece = std::move(piece)] {
            const auto request = waiting_.front().request;
            waiting_.pop_front();
            if (!waiting_.empty()) begin();
            if (!piece.failure.empty()) return replies_.refuse(request, piece.failure, piece.failure_code);
            replies_.send(request, {{"content", smtp::encode_base64(piece.bytes)}, {"size", piece.size}});
            replies_.finish(request);
        });
    });
}

} // namespace queue_manager
