// Any bytes as replies: bounded, and the same in one piece as byte by byte.
#include "libsmtp/protocol/reply_parser.h"
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <string>

namespace {

std::string read(std::string_view wire, std::size_t step) {
    smtp::ReplyParser parser;
    std::string out;
    for (; !wire.empty(); wire.remove_prefix(std::min(step, wire.size()))) {
        auto input = wire.substr(0, step);
        while (!input.empty()) {
            auto result = parser.next(input);
            if (auto* malformed = std::get_if<smtp::Malformed>(&result)) return out + malformed->why;
            auto* reply = std::get_if<smtp::Reply>(&result);
            if (!reply) continue;
            assert(reply->code >= 200 && reply->code < 600 && reply->text.size() <= smtp::ReplyParser::kept + 1);
            for (char c : reply->text) assert(c == '\n' || (c >= 0x20 && c < 0x7f));
            out += std::to_string(reply->code) + reply->line() + "\n";
        }
    }
    return out;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view wire(reinterpret_cast<const char*>(data), size);
    const auto whole = read(wire, size + 1);
    const auto bytes = read(wire, 1), sevens = read(wire, 7);
    assert(whole == bytes && whole == sevens);
    return 0;
}
