#include "daemons/common/crypto/auth/password_file.h"
#include "daemons/common/crypto/auth/saslprep.h"
#include "libsmtp/text/utf8.h"
#include <algorithm>
#include <crypt.h>
#include <cstring>
#include <fmt/format.h>
#include <memory>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

namespace auth {

namespace {

std::string sha256(std::string_view text) {
    std::string out(32, '\0');
    EVP_Digest(text.data(), text.size(), reinterpret_cast<unsigned char*>(out.data()), nullptr, EVP_sha256(), nullptr);
    return out;
}

std::string hmac_sha256(std::string_view key, std::string_view text) {
    std::string out(32, '\0');
    HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), reinterpret_cast<const unsigned char*>(text.data()),
         text.size(), reinterpret_cast<unsigned char*>(out.data()), nullptr);
    return out;
}

std::string_view take_until(std::string_view& text, char end) {
    const auto at = std::min(text.find(end), text.size());
    const auto taken = text.substr(0, at);
    text.remove_prefix(std::min(at + 1, text.size()));
    return taken;
}

bool same(std::string_view a, std::string_view b) {
    return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

// crypt(3) with room of its own: any number at a time.
std::string crypted(std::string_view password, const char* setting) {
    const auto room = std::make_unique<crypt_data>();
    std::string phrase(password);
    const char* hash = crypt_r(phrase.c_str(), setting, room.get());
    std::string out = hash && hash[0] != '*' ? hash : "";
    OPENSSL_cleanse(phrase.data(), phrase.size());
    OPENSSL_cleanse(room.get(), sizeof *room);
    return out;
}

} // namespace

const smtp::ScramCrypto scram_crypto{sha256, hmac_sha256};

bool is_user_name(std::string_view user) {
    const auto fits = [](unsigned char c) { return c > 0x20 && c != 0x7f && c != ':'; };
    const bool marked = smtp::without_byte_order_mark(user).size() != user.size(); // on the first line it would be lost
    return !user.empty() && user.size() <= 255 && user.front() != '#' && !marked && std::ranges::all_of(user, fits);
}

std::string Entry::text() const {
    std::string list;
    for (const auto& address : addresses) list += (list.empty() ? "" : ",") + address;
    return fmt::format("{}:{}:{}", hash, scram ? scram->text() : "", list);
}

std::expected<PasswordFile, smtp::Malformed> PasswordFile::parse(std::string_view text) {
    text = smtp::without_byte_order_mark(text);
    PasswordFile file;
    for (unsigned number = 1; !text.empty(); ++number) {
        auto line = take_until(text, '\n');
        if (line.ends_with('\r')) line.remove_suffix(1);
        if (line.empty() || line.starts_with('#')) continue;
        const auto bad = [&](std::string_view why) {
            return std::unexpected(smtp::Malformed{fmt::format("line {}: {}", number, why)});
        };
        if (std::ranges::any_of(line, [](unsigned char c) { return c < 0x20 || c == 0x7f; }))
            return bad("contains a control character");
        auto user = saslprep(take_until(line, ':'));
        if (!is_user_name(user)) return bad("expected a user's name and a colon");
        Entry entry;
        entry.hash = take_until(line, ':');
        const auto scram = take_until(line, ':');
        if (!scram.empty()) {
            entry.scram = smtp::ScramKeys::parse(scram);
            if (!entry.scram) return bad("the third field is not \"iterations,salt,key,key\"");
        }
        while (!line.empty())
            if (const auto address = take_until(line, ','); !address.empty())
                entry.addresses.push_back(smtp::lowered(address));
        if (!file.users.emplace(std::move(user), std::move(entry)).second) return bad("this user is already listed");
    }
    return file;
}

const Entry* PasswordFile::find(std::string_view user) const {
    const auto at = users.find(saslprep(user));
    return at == users.end() ? nullptr : &at->second;
}

smtp::Secret salted_password(std::string_view password, std::string_view salt, std::uint32_t iterations) {
    const smtp::Secret prepared(saslprep(password));
    const auto text = prepared.reveal();
    std::string salted(32, '\0');
    PKCS5_PBKDF2_HMAC(text.data(), static_cast<int>(text.size()), reinterpret_cast<const unsigned char*>(salt.data()),
                      static_cast<int>(salt.size()), static_cast<int>(iterations), EVP_sha256(),
                      static_cast<int>(salted.size()), reinterpret_cast<unsigned char*>(salted.data()));
    return smtp::Secret(std::move(salted));
}

smtp::ScramKeys make_scram_keys(std::string_view password, std::string salt, std::uint32_t iterations) {
    const auto key = salted_password(password, salt, iterations);
    return {iterations, std::move(salt), sha256(hmac_sha256(key.reveal(), "Client Key")),
            hmac_sha256(key.reveal(), "Server Key")};
}

bool matches(const Entry& entry, std::string_view password) {
    if (password.empty() || password.find('\0') != password.npos) return false;
    if (!entry.hash.empty()) {
        const smtp::Secret prepared(saslprep(password));
        const auto is_of = [&](std::string_view text) {
            const auto hash = crypted(text, entry.hash.c_str());
            return !hash.empty() && same(hash, entry.hash);
        };
        return is_of(prepared.reveal()) || (prepared.reveal() != password && is_of(password));
    }
    if (!entry.scram) return false;
    const auto keys = make_scram_keys(password, entry.scram->salt, entry.scram->iterations);
    return same(keys.stored_key, entry.scram->stored_key);
}

std::string make_hash(std::string_view password) {
    char setting[CRYPT_GENSALT_OUTPUT_SIZE];
    if (!crypt_gensalt_rn(nullptr, 0, nullptr, 0, setting, sizeof setting)) return "";
    const smtp::Secret prepared(saslprep(password));
    return crypted(prepared.reveal(), setting);
}

} // namespace auth
