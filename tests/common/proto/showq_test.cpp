#include "daemons/common/proto/showq.h"
#include <doctest/doctest.h>

using namespace proto::showq;

static std::vector<Entry> read(std::string_view wire, std::size_t chunk, Decoder::Progress& progress) {
    std::vector<Entry> entries;
    Decoder decoder([&](Entry&& entry) { entries.push_back(std::move(entry)); });
    progress = Decoder::Progress::more;
    for (std::size_t i = 0; i < wire.size(); i += chunk) progress = decoder.feed(wire.substr(i, chunk));
    return entries;
}

TEST_CASE("a queue listing survives the wire, however it is cut") {
    const std::vector<Entry> queue = {
        {"deferred",
         "0A1B2C3D4E5F01",
         1'700'000'000,
         4096,
         false,
         "a@example.org",
         {{"b@example.net", "connect to mx.example.net[192.0.2.1]:25: Connection refused"}, {"c@example.net", ""}}},
        {"hold", "0A1B2C3D4E5F02", 1'700'000'001, 1, true, "MAILER-DAEMON", {{"d@example.net", ""}}},
    };
    std::string wire;
    append_start(wire);
    for (auto& entry : queue) append(entry, wire);
    append_end(wire);
    for (std::size_t chunk : {wire.size(), std::size_t{7}, std::size_t{1}}) {
        Decoder::Progress progress;
        CHECK(read(wire, chunk, progress) == queue);
        CHECK(progress == Decoder::Progress::end);
    }
}

TEST_CASE("an empty queue is a greeting and an end") {
    std::string wire;
    append_start(wire);
    append_end(wire);
    Decoder::Progress progress;
    CHECK(read(wire, wire.size(), progress).empty());
    CHECK(progress == Decoder::Progress::end);
}

TEST_CASE("odd listings are refused") {
    using namespace std::string_literals;
    for (auto& odd :
         {"protocol\0http\0"s, "queue_id\0A\0time\0soon\0"s, "reason\0busy\0"s, "what\0ever\0"s, "sender\0a@b\0\0"s}) {
        Decoder::Progress progress;
        read(odd, odd.size(), progress);
        CHECK(progress == Decoder::Progress::malformed);
    }
    Decoder::Progress progress;
    read(std::string(70'000, 'x'), 4096, progress);
    CHECK(progress == Decoder::Progress::malformed);
}
