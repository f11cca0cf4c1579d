// Any text: no crash, and what was read can be written and read again to the same.
#include "libsmtp/message/address_list.h"
#include <cassert>
#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto list = smtp::parse_address_list({reinterpret_cast<const char*>(data), size});
    if (!list) return 0;
    for (const smtp::ListedAddress& address : *list) {
        assert(!address.local_part.empty() && address.end <= size);
        const auto again = smtp::parse_address_list(address.address());
        assert(again && again->size() == 1);
        assert(again->front().local_part == address.local_part && again->front().domain == address.domain);
    }
    return 0;
}
