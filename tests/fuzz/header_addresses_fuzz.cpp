// Any header: no crash; a field with other addresses is still one field that lists as many, the new ones in their
// places; where no address is replaced, nothing changes.
#include "libsmtp/message/header_addresses.h"
#include <cassert>
#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto found = smtp::addresses_of_header(smtp::scan_header(text), {.field = 64 * 1024, .addresses = 500});
    for (const auto& field : found.fields) {
        assert(!smtp::rewritten_field(field, [](auto, auto&) { return std::nullopt; }));
        std::size_t replaced = 0;
        const auto other = smtp::rewritten_field(field, [&](auto, const std::string& address) {
            return ++replaced % 2 ? std::optional<std::string>("\"other one\"@example.com") : std::optional(address);
        });
        if (!other) continue;
        const auto again = smtp::addresses_of_header(smtp::scan_header(*other));
        assert(again.complete && again.fields.size() == 1);
        const auto& addresses = again.fields.front().addresses;
        assert(again.fields.front().raw.size() == other->size());
        assert(addresses.size() == field.addresses.size());
        std::size_t number = 0;
        for (std::size_t i = 0; i < addresses.size(); ++i) {
            assert(addresses[i].group == field.addresses[i].group);
            if (field.addresses[i].domain.empty()) continue;
            const bool is_other = ++number % 2;
            assert(addresses[i].address() == (is_other ? "\"other one\"@example.com" : field.addresses[i].address()));
        }
    }
    return 0;
}
