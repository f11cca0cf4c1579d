// Whatever another process sends: frames cut anywhere, decoded as every conversation in turn. A message that is
// understood must survive being written again, in no more bytes.
#include "daemons/common/ipc/frame.h"
#include "daemons/common/ipc/message.h"
#include "daemons/common/proto/categorize.h"
#include "daemons/common/proto/delivery.h"
#include "daemons/common/proto/fleet.h"
#include "daemons/common/proto/hello.h"
#include "daemons/common/proto/key_claims.h"
#include "daemons/common/proto/key_records.h"
#include "daemons/common/proto/metrics_text.h"
#include "daemons/common/proto/recipient_check.h"
#include "daemons/common/proto/relayed_control.h"
#include "daemons/common/proto/relayed_submission.h"
#include "daemons/common/proto/report.h"
#include "daemons/common/proto/route.h"
#include "daemons/common/proto/submission.h"
#include "daemons/common/proto/supervision.h"
#include "daemons/common/proto/verification.h"
#include <cstdint>
#include <cstdlib>
#include <vector>

namespace {

std::vector<std::string> frames_of(std::string_view wire, std::size_t step) {
    ipc::FrameReader reader;
    std::vector<std::string> out;
    for (; !wire.empty(); wire.remove_prefix(std::min(step, wire.size()))) {
        const std::string piece(wire.substr(0, step));
        reader.feed(piece);
        while (auto frame = reader.next()) out.emplace_back(*frame);
        reader.keep();
    }
    return out;
}

template <class Message> void understand(std::string_view frame) {
    auto message = ipc::decode<Message>(frame);
    if (!message) return;
    std::string again;
    std::visit([&](const auto& m) { ipc::encode<Message>(m, again); }, *message);
    auto same = ipc::decode<Message>(again); // not always the same bytes: a number may come with needless zeros
    if (!same || same->index() != message->index() || again.size() > frame.size()) std::abort();
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view wire(reinterpret_cast<const char*>(data), size);
    const auto whole = frames_of(wire, size + 1);
    if (whole != frames_of(wire, 1) || whole != frames_of(wire, 7)) std::abort();
    for (const auto& frame : whole) {
        understand<proto::submission::Message>(frame);
        understand<proto::categorize::Message>(frame);
        understand<proto::route::Message>(frame);
        understand<proto::delivery::Message>(frame);
        understand<proto::report::Message>(frame);
        understand<proto::recipient_check::Message>(frame);
        understand<proto::supervision::Message>(frame);
        understand<proto::hello::Message>(frame);
        understand<proto::metrics_text::Message>(frame);
        understand<proto::relayed_control::Message>(frame);
        understand<proto::relayed_submission::Message>(frame);
        understand<proto::verification::Message>(frame);
        understand<proto::fleet::Message>(frame);
        understand<proto::key_claims::Message>(frame);
        understand<proto::key_records::Message>(frame);
    }
    return 0;
}
