// Any text is either a configuration or refused with problems that a terminal can show.
#include "daemons/common/config/config.h"
#include "daemons/common/config/load.h"
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto read = config::parse({reinterpret_cast<const char*>(data), size}, "fuzz.toml", {"h.example", "user", 2});
    if (!read && read.error().empty()) std::abort();
    if (read && (read->mta.hostname.empty() || read->listeners.empty() || read->smtpd.workers == 0)) std::abort();
    return 0;
}
