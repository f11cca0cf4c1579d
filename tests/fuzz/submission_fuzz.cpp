// The frames a stranger may write to the submit socket or into drop/: any bytes, never a crash.
#include "daemons/common/ipc/frame.h"
#include "daemons/common/ipc/message.h"
#include "daemons/common/proto/submit.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    ipc::FrameReader frames;
    frames.feed(bytes);
    while (const auto frame = frames.next()) {
        const auto message = ipc::decode<proto::submit::Message>(*frame);
        if (!message) break;
        std::string wire;
        std::visit([&](const auto& m) { ipc::encode<proto::submit::Message>(m, wire); }, *message);
        if (!ipc::decode<proto::submit::Message>(wire)) __builtin_trap();
    }
    return 0;
}
