// Any bytes are an answer of a socket map or tcp table, the beginning of one, or none; and the same bytes, cut
// anywhere, are the beginning of what they are as a whole.
#include "daemons/common/lookup/tables/remote_protocol.h"
#include <cstdlib>

static void check(tables::ParseResult (*parse_reply)(std::string_view), std::string_view bytes) {
    const auto whole = parse_reply(bytes);
    if (!whole || !*whole) return;
    const auto& [answer, taken, whole_table] = **whole;
    if (whole_table) std::abort(); // maps alone says so
    if (taken == 0 || taken > bytes.size() || answer.value.size() > tables::longest_reply) std::abort();
    if (answer.status == tables::Answer::Status::not_yet) std::abort();
    for (std::size_t n = 0; n < taken; n += 1 + taken / 16) {
        const auto part = parse_reply(bytes.substr(0, n));
        if (!part || *part) std::abort();
    }
    const auto alone = parse_reply(bytes.substr(0, taken));
    if (!alone || !*alone || (*alone)->answer != answer) std::abort();
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    check(tables::socketmap::parse_reply, bytes);
    check(tables::tcp_table::parse_reply, bytes);
    return 0;
}
