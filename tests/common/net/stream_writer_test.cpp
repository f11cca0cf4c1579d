#include "daemons/common/net/stream_writer.h"
#include "daemons/common/runtime/fd.h"
#include "daemons/common/runtime/loop.h"
#include "daemons/common/runtime/uv_handle.h"
#include <doctest/doctest.h>
#include <memory>
#include <sys/socket.h>
#include <unistd.h>

using namespace common;

namespace {

// A stream, and who reads at its other end.
struct Pair {
    Pair() {
        int ends[2];
        REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
        pipe = make_pipe(loop.uv(), this);
        REQUIRE(uv_pipe_open(pipe.get(), ends[0]) == 0);
        reader.reset(ends[1]);
    }
    uv_stream_t* stream() const { return stream_of(pipe); }
    std::string read(std::size_t size) const {
        std::string out(size, '\0');
        std::size_t have = 0;
        while (have < size) {
            const auto n = ::read(reader.number(), out.data() + have, size - have);
            if (n <= 0) break;
            have += static_cast<std::size_t>(n);
        }
        out.resize(have);
        return out;
    }

    Loop loop;
    Handle<uv_pipe_t> pipe;
    Fd reader;
};

const std::string large(4 << 20, 'x'); // more than a socket takes at once

} // namespace

TEST_CASE("what the kernel takes at once is gone, without a call") {
    Pair pair;
    StreamWriter writer([](int) { FAIL("nothing is under way"); });
    writer.pending() += "hello";
    CHECK(writer.unsent() == 5);
    CHECK(writer.try_then_start(pair.stream()) == 0);
    CHECK(writer.unsent() == 0);
    CHECK_FALSE(writer.writing());
    CHECK(pair.read(5) == "hello");
}

TEST_CASE("the rest follows, and what is appended meanwhile waits for the next write") {
    for (const bool at_once : {true, false}) {
        Pair pair;
        int calls = 0;
        StreamWriter writer([&](int status) {
            CHECK(status == 0);
            ++calls;
            pair.loop.stop();
        });
        writer.pending() = large;
        CHECK((at_once ? writer.try_then_start(pair.stream()) : writer.start(pair.stream())) == 0);
        CHECK(writer.writing());
        writer.pending() += "more";
        const auto unsent = writer.unsent();
        CHECK(writer.start(pair.stream()) == 0); // one at a time
        CHECK(writer.unsent() == unsent);
        // The reader takes a part at a time, as the writer comes to give it.
        std::size_t left = large.size();
        while (calls == 0) {
            uv_run(&pair.loop.uv(), UV_RUN_NOWAIT);
            char buffer[65536];
            const auto n = ::recv(pair.reader.number(), buffer, std::min(left, sizeof buffer), MSG_DONTWAIT);
            if (n > 0) left -= static_cast<std::size_t>(n);
        }
        CHECK(writer.unsent() == 4);
        CHECK(pair.read(left).size() == left);
        CHECK(writer.try_then_start(pair.stream()) == 0);
        CHECK(pair.read(4) == "more");
    }
}

TEST_CASE("a peer that has gone is an error; a writer may go before its write") {
    Pair gone;
    gone.reader.reset();
    StreamWriter writer([](int) {});
    writer.pending() = "hello";
    CHECK(writer.try_then_start(gone.stream()) == UV_EPIPE);

    Pair pair;
    auto early = std::make_unique<StreamWriter>([](int) { FAIL("its owner has gone"); });
    early->pending() = large;
    CHECK(early->start(pair.stream()) == 0);
    early.reset();
    pair.pipe.reset();
    uv_run(&pair.loop.uv(), UV_RUN_NOWAIT);
}
