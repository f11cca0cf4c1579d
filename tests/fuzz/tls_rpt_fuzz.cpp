// Whatever stands at a domain's _smtp._tls record is read without harm; what comes of it is bounded and can be used.
#include "daemons/decide/tls/tls_rpt.h"
#include <cstdint>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace decide::tls_rpt;
    const std::string text(reinterpret_cast<const char*>(data), size);
    const auto found = find_destinations(std::vector{text});
    if (found.size() > most_destinations) std::abort();
    for (const auto& to : found) {
        if (to.mailbox.empty() == to.host.empty()) std::abort();
        if (to.mailbox.empty() && (!to.target.starts_with('/') || to.port == 0)) std::abort();
        for (const char c : to.mailbox + to.host + to.target)
            if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) std::abort();
    }
    return 0;
}
