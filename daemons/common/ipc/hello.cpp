#include "daemons/common/ipc/hello.h"
#include <algorithm>
#include <fmt/format.h>

namespace ipc {

bool equal_secrets(std::string_view a, std::string_view b) {
    if (a.size() != b.size()) return false;
    unsigned char differences = 0;
    for (std::size_t i = 0; i < a.size(); ++i) differences |= static_cast<unsigned char>(a[i] ^ b[i]);
    return differences == 0;
}

std::string refusal(const proto::hello::Hello& hello, const std::vector<proto::Role>& roles,
                    const ExpectedTokens& expected) {
    if (hello.version != proto::version)
        return fmt::format("it speaks version {}, this is version {}", hello.version, proto::version);
    if (std::ranges::find(roles, hello.role) == roles.end())
        return fmt::format("{} has no part in \"{}\"", proto::name_of(hello.role), hello.conversation);
    for (const auto& each : expected)
        if (each.role == hello.role && !each.token.empty() && equal_secrets(each.token, hello.token)) return {};
    return fmt::format("it does not prove to be {}", proto::name_of(hello.role));
}

} // namespace ipc
