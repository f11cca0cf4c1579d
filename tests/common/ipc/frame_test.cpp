#include "daemons/common/ipc/frame.h"
#include <doctest/doctest.h>
#include <vector>

using namespace ipc;

namespace {

void append(std::string& wire, std::string_view content) {
    const auto begun = begin_frame(wire);
    wire.append(content);
    REQUIRE(end_frame(wire, begun));
}

// Every frame that comes out of `wire`, fed `step` bytes at a time; "!" at the end if it broke.
std::vector<std::string> frames_of(std::string_view wire, std::size_t step) {
    FrameReader reader;
    std::vector<std::string> out;
    for (; !wire.empty(); wire.remove_prefix(std::min(step, wire.size()))) {
        const std::string piece(wire.substr(0, step)); // its own memory: what is not kept is gone
        reader.feed(piece);
        while (auto frame = reader.next()) out.emplace_back(*frame);
        reader.keep();
    }
    if (reader.broken()) out.push_back("!");
    return out;
}

} // namespace

TEST_CASE("frames come out as they went in, however the bytes are cut") {
    using namespace std::string_literals;
    std::string good;
    std::vector<std::string> contents = {"a", "bc", std::string(300, 'x'), std::string(70'000, 'y'), "\0"s, "end"};
    for (const auto& each : contents) append(good, each);
    struct Row {
        std::string wire;
        std::vector<std::string> frames;
    };
    std::vector<std::string> broken = contents;
    broken.push_back("!");
    const Row rows[] = {
        {"", {}},
        {good, contents},
        {good + "\x05\x00\x00"s, contents},
        {good + "\x05\x00\x00\x00wxyz"s, contents},
        {"\x00\x00\x00\x00"s, {"!"}},
        {"\x01\x00\x10\x00z"s, {"!"}},
        {"\xff\xff\xff\xff"s, {"!"}},
        {good + "\x00\x00\x00\x00"s + good, broken},
    };
    for (const auto& row : rows)
        for (std::size_t step : {std::size_t{1}, std::size_t{7}, std::size_t{64}, std::size_t{1} << 30})
            CHECK(frames_of(row.wire, step) == row.frames);
}

TEST_CASE("a frame is neither empty nor beyond the bound, and a refused one leaves nothing behind") {
    std::string wire = "before";
    auto begun = begin_frame(wire);
    CHECK_FALSE(end_frame(wire, begun));
    CHECK(wire == "before");
    begun = begin_frame(wire);
    wire.append(max_frame + 1, 'x');
    CHECK_FALSE(end_frame(wire, begun));
    CHECK(wire == "before");
    begun = begin_frame(wire);
    wire.append(max_frame, 'x');
    CHECK(end_frame(wire, begun));
    CHECK(frames_of(wire.substr(6), 65536).front().size() == max_frame);
}
