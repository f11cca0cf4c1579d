// The server's half of a conversation: whole and byte by byte give the same words and the same events; a
// transaction never outlives its end; Disconnect comes once.
#include "tests/libsmtp/session/server_peer.h"
#include <cassert>

using namespace smtp;
using namespace smtp::testing;

static std::string converse(const ServerSettings& settings, bool bare_newlines, std::string_view input,
                            std::size_t length) {
    ServerPeer peer(settings);
    peer.session.grant({true, true, bare_newlines});
    while (!input.empty()) {
        peer.feed(input.substr(0, length));
        input.remove_prefix(std::min(length, input.size()));
    }
    peer.advance(std::chrono::hours(1));
    peer.hang_up();
    assert(peer.session.closed() && peer.disconnects == 1 && !peer.session.in_transaction());
    return peer.sent + "\n" + peer.log;
}

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    if (size == 0) return 0;
    auto settings = test_settings();
    settings.early_bytes = ServerSettings::EarlyBytes::tolerate; // when bytes come is not what is tried here
    settings.content_lines =
        (data[0] & 1) ? ServerSettings::ContentLines::reject : ServerSettings::ContentLines::normalise;
    const bool bare_newlines = (data[0] & 2) != 0;
    settings.capabilities.chunking = true; // STARTTLS depends on when bytes come
    settings.capabilities.auth = "PLAIN LOGIN";
    settings.capabilities.smtputf8 = settings.capabilities.etrn = true;
    settings.message_size = 200;
    settings.skipped = 300;
    settings.recipients = 3;
    settings.line = 100;
    const std::string_view input(reinterpret_cast<const char*>(data + 1), size - 1);
    const auto whole = converse(settings, bare_newlines, input, input.size() + 1);
    assert(whole == converse(settings, bare_newlines, input, 1));
    assert(whole == converse(settings, bare_newlines, input, 7));
    return 0;
}
