// What a policy server says, any bytes in pieces: a verdict whose texts are fit for replies and headers, or
// none.
#include "daemons/smtpd/policy/policy_protocol.h"
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    if (size == 0) return 0;
    std::string_view bytes(reinterpret_cast<const char*>(data + 1), size - 1);
    const std::size_t piece = data[0] % 16 + 1u;
    smtpd::PolicyAnswer answer;
    const smtpd::PolicyContext context;
    while (!bytes.empty()) {
        const auto state = answer.feed(bytes.substr(0, piece));
        bytes.remove_prefix(std::min(piece, bytes.size()));
        if (state == smtpd::PolicyAnswer::State::malformed) return 0;
        if (state == smtpd::PolicyAnswer::State::incomplete) continue;
        const auto verdict = smtpd::parse_policy_action(answer.take(), smtpd::Stage::rcpt, context);
        if (!verdict) continue;
        if (verdict->kind == smtpd::PolicyVerdict::Kind::reject &&
            (verdict->reply.code < 400 || verdict->reply.code > 599))
            std::abort();
        for (const auto& field : verdict->fields)
            if (field.find_first_of("\r\n") != field.npos) std::abort();
    }
    return 0;
}
