// Envelope and properties from any bytes: never a crash; what was understood is written the same way again.
#include "libspool/message/message_state.h"
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    if (const auto envelope = spool::decode(bytes)) {
        const auto again = spool::decode(spool::encode(*envelope));
        if (!again || *again != *envelope) std::abort();
    }
    if (size < 1) return 0;
    const auto property = spool::decode_property(static_cast<std::uint16_t>(10 + data[0] % 24), bytes.substr(1));
    if (!property) return 0;
    const auto again = spool::decode_property(spool::type_of(*property), spool::encode(*property));
    if (!again || *again != *property) std::abort();
    spool::Envelope envelope;
    envelope.recipients.resize(3);
    for (auto& recipient : envelope.recipients) recipient.address = "a@b";
    spool::MessageState state(envelope);
    if (!state.apply(*property)) return 0;
    spool::MessageState restored(envelope);
    if (!restored.apply(state.checkpoint()) || restored != state) std::abort();
    return 0;
}
