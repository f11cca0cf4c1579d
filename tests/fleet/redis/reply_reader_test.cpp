// Replies of the store: every kind, whole, in pieces and byte by byte; and those of a store that is hostile.
#include "daemons/fleet/redis/command.h"
#include "daemons/fleet/redis/reply_reader.h"
#include "daemons/fleet/redis/script.h"
#include <doctest/doctest.h>

using namespace fleet::redis;
using Kind = Reply::Kind;

namespace {

// All replies in the bytes, fed in pieces of that size; the error, if there is one.
struct Read {
    std::vector<Reply> replies;
    std::string error;
};
Read read(std::string_view bytes, std::size_t piece) {
    ReplyReader reader;
    Read out;
    while (!bytes.empty()) {
        reader.feed(bytes.substr(0, piece));
        bytes.remove_prefix(std::min(piece, bytes.size()));
        while (true) {
            auto reply = reader.next();
            if (!reply) {
                out.error = reply.error();
                return out;
            }
            if (!*reply) break;
            out.replies.push_back(**std::move(reply));
        }
    }
    return out;
}

std::string error_of(const std::string& bytes) { return read(bytes, 64 * 1024).error; }

} // namespace

TEST_CASE("every kind of reply, however it is cut") {
    const std::string bytes = "+OK\r\n-ERR no\r\n:-42\r\n$5\r\na\r\nbc\r\n$-1\r\n*-1\r\n*0\r\n"
                              "*3\r\n:1\r\n*2\r\n$0\r\n\r\n$-1\r\n+x\r\n:7\r\n";
    for (const std::size_t piece : {bytes.size(), std::size_t{1}, std::size_t{7}}) {
        const auto out = read(bytes, piece);
        CHECK(out.error.empty());
        REQUIRE(out.replies.size() == 9);
        CHECK(out.replies[0] == Reply{.kind = Kind::status, .text = "OK", .elements = {}});
        CHECK(out.replies[1] == Reply{.kind = Kind::error, .text = "ERR no", .elements = {}});
        CHECK(out.replies[2].number == -42);
        CHECK(out.replies[3].text == "a\r\nbc");
        CHECK(out.replies[4].kind == Kind::nil);
        CHECK(out.replies[5].kind == Kind::nil);
        CHECK(out.replies[6].is_list());
        CHECK(out.replies[6].elements.empty());
        const auto& list = out.replies[7].elements;
        REQUIRE(list.size() == 3);
        CHECK(list[0].number == 1);
        REQUIRE(list[1].elements.size() == 2);
        CHECK(list[1].elements[0].is_text());
        CHECK(list[1].elements[1].kind == Kind::nil);
        CHECK(list[2].text == "x");
        CHECK(out.replies[8].number == 7);
    }
}

TEST_CASE("what is no reply") {
    for (const std::string bytes :
         {"hello\r\n", "!\r\n", "$-7\r\nabc\r\n", "*-7\r\n", ":12x\r\n", "$99999999999999999999\r\n"})
        CHECK(error_of(bytes).starts_with("not a valid reply: "));
}

TEST_CASE("a reply that is too large, too deep or endless ends the connection, and takes no memory") {
    std::string deep;
    for (std::size_t n = 0; n <= ReplyReader::deepest; ++n) deep += "*1\r\n";
    CHECK(error_of(deep + ":1\r\n") == "a reply with lists nested deeper than 5");
    CHECK(error_of("*2147483647\r\n") == "a reply with more than 50000 elements");
    CHECK(error_of("*50001\r\n") == "a reply with more than 50000 elements");
    std::string many = "*30\r\n"; // together
    for (int n = 0; n < 30; ++n) {
        many += "*2000\r\n";
        for (int k = 0; k < 2000; ++k) many += "$-1\r\n";
    }
    CHECK(error_of(many) == "a reply with more than 50000 elements");
    const std::string endless(ReplyReader::largest_reply + 64 * 1024, 'x');
    CHECK(error_of("$1000000000\r\n" + endless) == "a reply of more than 8388608 bytes");
    CHECK(error_of("+" + endless) == "a reply of more than 8388608 bytes");
    // After that nothing is read.
    ReplyReader reader;
    reader.feed("?\r\n+OK\r\n");
    CHECK_FALSE(reader.next());
    CHECK_FALSE(reader.next());
}

TEST_CASE("many replies that are small are not too large together") {
    std::string bytes;
    for (int n = 0; n < 3000; ++n) bytes += "$3000\r\n" + std::string(3000, 'x') + "\r\n";
    const auto out = read(bytes, 64 * 1024);
    CHECK(out.error.empty());
    CHECK(out.replies.size() == 3000);
}

TEST_CASE("commands and the digests of scripts") {
    CHECK(bytes_of({"SET", std::string("a\0b", 3), ""}) ==
          std::string("*3\r\n$3\r\nSET\r\n$3\r\na\0b\r\n$0\r\n\r\n", 28));
    CHECK(Script("return 1").digest() == "e0e1f9fabfc9d4800c877a703b823ac0578ff8db");
}
