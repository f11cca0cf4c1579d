#include "libspool/format/queue_id.h"

namespace spool {

std::string QueueId::text() const {
    static constexpr char digits[] = "0123456789ABCDEF";
    std::string out(14, '0');
    auto rest = value;
    for (int i = 13; i >= 0; --i, rest >>= 4) out[static_cast<std::size_t>(i)] = digits[rest & 15];
    return out;
}

std::optional<QueueId> QueueId::parse(std::string_view text) {
    if (text.size() < 10 || text.size() > 14) return {};
    QueueId id;
    for (char c : text) {
        if (c >= '0' && c <= '9')
            id.value = id.value << 4 | static_cast<unsigned>(c - '0');
        else if (c >= 'A' && c <= 'F')
            id.value = id.value << 4 | static_cast<unsigned>(c - 'A' + 10);
        else
            return {};
    }
    if (!id.valid()) return {};
    return id;
}

} // namespace spool
