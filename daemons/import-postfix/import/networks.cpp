#include "daemons/import-postfix/import/networks.h"
#include "daemons/common/net/network.h"
#include "daemons/import-postfix/import/import.h"
#include <algorithm>
#include <set>

namespace postrider {

std::vector<std::string> without_duplicates(const std::vector<std::string>& networks) {
    std::vector<std::string> out;
    std::set<std::string> seen;
    for (const auto& text : networks) {
        const auto network = common::Network::parse(text);
        if (seen.insert(network ? network->to_string() : text).second) out.push_back(text);
    }
    return out;
}

std::vector<std::string> own_networks(Import& import) {
    const auto style = import.value("mynetworks_style");
    std::vector<std::string> out = {"127.0.0.0/8", "::1/128"};
    const auto add = [&](std::string text) {
        if (std::ranges::find(out, text) == out.end()) out.push_back(std::move(text));
    };
    for (const auto& [address, bits] : import.environment.interfaces) {
        if (address.is_loopback()) continue;
        common::Network network{address, 128};
        if (style == "subnet" || style == "class") {
            network.bits = bits;
            if (style == "class" && address.is_v4())
                network.bits = 96 + (address.bytes[12] < 128 ? 8 : address.bytes[12] < 192 ? 16 : 24);
            for (int bit = network.bits; bit < 128; ++bit)
                network.base.bytes[static_cast<std::size_t>(bit / 8)] &=
                    static_cast<std::uint8_t>(~(0x80 >> (bit % 8)));
        }
        add(network.to_string());
    }
    return out;
}

} // namespace postrider
