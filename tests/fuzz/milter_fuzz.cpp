// What a filter says, any bytes: at the negotiation, after a recipient, at the end of a message. Never more
// than one word for each question, and no modification before the end.
#include "daemons/common/filters/milter/session.h"
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    if (size == 0) return 0;
    std::string_view bytes(reinterpret_cast<const char*>(data + 1), size - 1);
    const std::size_t piece = data[0] % 16 + 1u;
    milter::Session session(100'000);
    int question = 0;
    bool waiting = session.negotiate();
    const auto go_on = [&] {
        while (!waiting && question < 100) {
            ++question;
            waiting = question % 3 == 1   ? session.rcpt("<a@b>", {})
                      : question % 3 == 2 ? session.header("Subject", " x")
                                          : session.end_of_message({{"i", "1"}});
        }
    };
    while (!bytes.empty()) {
        session.feed(bytes.substr(0, piece));
        bytes.remove_prefix(std::min(piece, bytes.size()));
        for (;;) {
            const auto word = session.next();
            if (!word) return 0;
            if (!*word) break;
            if (!waiting) std::abort();
            const auto& changes = (*word)->changes;
            if (question % 3 != 0 && (!changes.headers.empty() || changes.body)) std::abort();
            if (changes.size > 100'000) std::abort();
            if ((*word)->what == milter::Response::What::progress) continue;
            waiting = false;
            go_on();
        }
    }
    return 0;
}
