#include "daemons/postrider/queue/import_frames.h"
#include "daemons/common/ipc/frame.h"
#include "daemons/common/ipc/message.h"
#include "daemons/common/net/local_socket.h"
#include "daemons/common/submission/submit_client.h"
#include "daemons/postrider/command/command.h"
#include <fmt/format.h>
#include <optional>
#include <sysexits.h>
#include <utility>

namespace postrider {

namespace {

class ImportFrames {
public:
    ImportFrames(spool::MessageReader& reader, std::string envelope)
        : reader_(reader), envelope_(std::move(envelope)) {}
    common::Made next(std::string& wire) {
        using namespace proto::submit;
        if (ended_) return common::Made::all;
        const auto begun = ipc::begin_frame(wire);
        if (!envelope_.empty()) {
            Import import;
            import.piece = envelope_.substr(0, largest_content);
            envelope_.erase(0, import.piece.size());
            import.more = !envelope_.empty();
            ipc::encode<Message>(import, wire);
        } else if (at_ < reader_.size()) {
            const auto piece = reader_.piece(at_, largest_content);
            if (!piece) {
                problem_ = piece.error();
                return common::Made::broken;
            }
            at_ += piece->size();
            ipc::encode<Message>(Content{std::string(*piece)}, wire);
        } else {
            ended_ = true;
            ipc::encode<Message>(End{}, wire);
        }
        ipc::end_frame(wire, begun);
        return common::Made::frame;
    }
    const std::optional<spool::ReadError>& problem() const { return problem_; }

private:
    spool::MessageReader& reader_;
    std::string envelope_;
    std::uint64_t at_ = 0;
    bool ended_ = false;
    std::optional<spool::ReadError> problem_;
};

} // namespace

std::expected<proto::submit::Answer, int> submit_copy(const config::Spool& spool, const config::Mta& mta,
                                                      spool::MessageReader& reader, const spool::Envelope& envelope,
                                                      const std::string& name, const std::string& nothing_done) {
    auto socket = common::connect_local(spool.directory + "/run/submit");
    if (!socket) return std::unexpected(report_socket_error(socket.error(), mta));
    ImportFrames frames(reader, spool::encode(envelope));
    auto answer = common::hand_over(std::move(*socket), [&](std::string& wire) { return frames.next(wire); });
    if (frames.problem()) {
        print_error(fmt::format("{}: {}; {}", name, spool::text_of(*frames.problem()), nothing_done));
        return std::unexpected(data_error);
    }
    if (!answer)
        return std::unexpected(fail(unavailable, "the connection to the mail system was lost; " + nothing_done));
    if (answer->status != EX_OK) return std::unexpected(fail(answer->status, answer->text));
    return *std::move(answer);
}

} // namespace postrider
