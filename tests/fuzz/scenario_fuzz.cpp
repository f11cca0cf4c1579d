// Any text is either a scenario that can be played or refused with problems that a terminal can show.
#include "daemons/simulate/scenario/scenario.h"
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto read = postrider::simulate::parse({reinterpret_cast<const char*>(data), size}, "fuzz.toml");
    if (!read && read.error().empty()) std::abort();
    if (!read) return 0;
    if (read->traffic.empty() || read->interval > read->duration) std::abort();
    for (const auto& traffic : read->traffic)
        if (traffic.domains.empty()) std::abort();
    return 0;
}
