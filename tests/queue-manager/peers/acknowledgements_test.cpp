#include "daemons/queue-manager/peers/acknowledgements.h"
#include <doctest/doctest.h>
#include <optional>
#include <vector>

using queue_manager::Acknowledgements;

TEST_CASE("an acknowledgement is sent once, when the last one that waits lets go of it") {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> sent;
    const Acknowledgements acknowledgements([&](auto agent, auto delivery) { sent.emplace_back(agent, delivery); });
    auto written = acknowledgements.of(3, 7);
    auto removed = written;
    written.reset();
    CHECK(sent.empty());
    removed.reset();
    CHECK(sent == std::vector<std::pair<std::uint64_t, std::uint64_t>>{{3, 7}});
}

TEST_CASE("what still waits when the queue-manager ends is not acknowledged: the agents' connections have gone") {
    int sent = 0;
    std::optional<Acknowledgements> acknowledgements(std::in_place, [&](auto, auto) { ++sent; });
    auto waiting = acknowledgements->of(3, 7);
    acknowledgements.reset();
    waiting.reset();
    CHECK(sent == 0);
}
