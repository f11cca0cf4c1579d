// Any bytes are replies of a store, the beginning of one, or none; cut anywhere, they are the same replies. The first
// byte says in which pieces they come. What a session makes of them ends at worst with the connection.
#include "daemons/fleet/redis/session.h"
#include <cstdlib>

using namespace fleet::redis;

static std::vector<Reply> read(std::string_view bytes, std::size_t piece, bool& failed) {
    ReplyReader reader;
    std::vector<Reply> out;
    while (!bytes.empty() && !failed) {
        reader.feed(bytes.substr(0, piece));
        bytes.remove_prefix(std::min(piece, bytes.size()));
        for (auto reply = reader.next(); reply && *reply; reply = reader.next()) out.push_back(**std::move(reply));
        failed = !reader.next();
    }
    return out;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const std::string_view bytes(reinterpret_cast<const char*>(data + 1), size - 1);
    const std::size_t piece = 1 + data[0] % 16;
    bool failed_whole = false, failed_in_pieces = false;
    const auto whole = read(bytes, bytes.size(), failed_whole), in_pieces = read(bytes, piece, failed_in_pieces);
    if (whole != in_pieces || failed_whole != failed_in_pieces) std::abort();

    Session session({.user = "u", .password = smtp::Secret("p"), .database = 1},
                    smtp::Monotonic(std::chrono::seconds(1)));
    int answers = 0, calls = 0;
    const Script script("return 1");
    for (std::string_view rest = bytes; !rest.empty(); rest.remove_prefix(std::min(piece, rest.size()))) {
        session.receive(rest.substr(0, piece));
        if (!session.ready()) continue;
        ++calls;
        session.run(script, {"k"}, {"v"}, smtp::Monotonic(std::chrono::seconds(2)), [&](const Result&) { ++answers; });
    }
    session.close("over");
    if (answers != calls || session.ready()) std::abort();
    return 0;
}
