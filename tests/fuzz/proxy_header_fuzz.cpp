// What comes ahead of a client's bytes: every prefix of a header asks for more, the header is the same
// whatever follows it, and one that was malformed stays so.
#include "daemons/common/net/proxy_header.h"
#include <cstdlib>

using common::ProxyHeader;

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    const auto whole = ProxyHeader::parse(bytes);
    if (whole && *whole && ((*whole)->size == 0 || (*whole)->size > std::min(size, ProxyHeader::most))) std::abort();
    if (whole && !*whole && size >= ProxyHeader::most) std::abort(); // bounded
    for (std::size_t length = 0; length < std::min<std::size_t>(size, 200); ++length) {
        const auto part = ProxyHeader::parse(bytes.substr(0, length));
        if (!part && whole) std::abort();
        if (!part || !*part) continue;
        if (!whole || *whole != *part) std::abort();
    }
    return 0;
}
