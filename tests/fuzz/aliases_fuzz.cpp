// Any text is read as an alias table; names and targets that come of it hold no control characters.
#include "daemons/common/alias_file.h"
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto table = common::AliasTable::parse({reinterpret_cast<const char*>(data), size});
    if (table.problems.size() > 20) std::abort();
    for (const auto& [name, targets] : table.entries) {
        if (name.empty() || targets.empty()) std::abort();
        for (const auto& target : targets)
            for (const unsigned char c : target.value)
                if (c < 0x20 || c == 0x7f) std::abort();
    }
    return 0;
}
