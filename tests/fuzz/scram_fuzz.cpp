// The server's half of SCRAM against anything: nothing but the right proof is ever taken, and stored keys
// read from a file are written as they were.
#include "daemons/common/crypto/auth/password_file.h"
#include <cassert>

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    if (size == 0) return 0;
    const std::string_view input(reinterpret_cast<const char*>(data + 1), size - 1);
    const auto cut = std::min(input.find('\n'), input.size());
    const auto plus = static_cast<smtp::ScramServer::Plus>(data[0] % 3);
    smtp::ScramServer server(auth::scram_crypto, "nonce", plus, [](std::string_view) { return std::string("bound"); });
    if (server.first(input.substr(0, cut))) {
        smtp::ScramKeys keys{4096, "salt", std::string(32, '\x5a'), std::string(32, '\xa5')};
        server.challenge(keys);
        assert(!server.final(input.substr(std::min(cut + 1, input.size()))));
    }
    if (const auto keys = smtp::ScramKeys::parse(input)) assert(smtp::ScramKeys::parse(keys->text()));
    if (const auto file = auth::PasswordFile::parse(input))
        for (const auto& [user, entry] : file->users) {
            const auto again = auth::PasswordFile::parse(user + ":" + entry.text() + "\n");
            assert(again && again->find(user) && again->find(user)->text() == entry.text());
        }
    return 0;
}
