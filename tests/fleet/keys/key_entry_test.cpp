// Entries of idempotency keys in the store of the fleet: what this program writes, and what others wrote.
#include "daemons/fleet/keys/key_entry.h"
#include "daemons/fleet/keys/key_scripts.h"
#include <doctest/doctest.h>

using namespace fleet;

namespace {

KeyEntry some(KeyEntry::State state = KeyEntry::State::accepted) {
    return {.state = state, .digest = std::string(31, '\xa7') + '\0', .id = {0x0123456789ABCD}, .node = "mx-1.example"};
}

} // namespace

TEST_CASE("entries as text") {
    using State = KeyEntry::State;
    for (const auto state : {State::reserved, State::pledged, State::accepted})
        CHECK(KeyEntry::parse(some(state).text()) == some(state));
    CHECK(some().text() ==
          "A a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a7a700 0123456789ABCD mx-1.example");
    CHECK(some().text() == "A " + some().tail());
}

TEST_CASE("what is no entry") {
    const auto good = some().text();
    for (std::size_t size = 0; size < good.size() - std::string("mx-1.example").size() + 1; ++size)
        CHECK_FALSE(KeyEntry::parse(good.substr(0, size)));
    const auto with = [&](std::size_t at, std::string_view what) {
        auto out = good;
        return out.replace(at, what.size(), what);
    };
    constexpr std::size_t id = 2 + 64 + 1, node = id + 15;
    for (const auto& bad :
         {with(0, "B"), with(0, "a"), with(1, "-"), with(2, "A7"), with(2, "g"), with(id - 1, "-"),
          with(id, "00000000000000"), with(id, "0123456789abcd"), with(id, "01234 6789ABCD"), with(id + 14, "-"),
          with(node, "mx 1"), with(node, "mx\r\n"), with(node, "<mx>"), good + "\n", good + std::string(300, 'x')})
        CHECK_MESSAGE(!KeyEntry::parse(bad), bad);
}

TEST_CASE("names in the store") {
    CHECK(entry_key(std::string("\x00\xff", 2), "") == "key:00ff");
    CHECK(bytes_of_hex("00ff") == std::string("\x00\xff", 2));
    for (const auto* bad : {"0", "0g", "AA", "zz"}) CHECK_FALSE(bytes_of_hex(bad));
}
