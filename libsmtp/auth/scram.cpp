#include "libsmtp/auth/scram.h"
#include "libsmtp/text/base64.h"
#include <algorithm>
#include <fmt/format.h>

namespace smtp {

namespace {

auto malformed(std::string_view why) { return std::unexpected(Malformed{std::string(why)}); }

// Removes the text before the next comma from `text`.
std::string_view take_field(std::string_view& text) {
    const auto end = std::min(text.find(','), text.size());
    const auto field = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return field;
}

// "=2C" and "=3D" stand for ',' and '='.
std::optional<std::string> decode_name(std::string_view name) {
    std::string out;
    for (std::size_t i = 0; i < name.size(); ++i) {
        if (name[i] != '=') {
            if (static_cast<unsigned char>(name[i]) < 0x20 || name[i] == 0x7f) return {};
            out += name[i];
            continue;
        }
        const auto code = name.substr(i, 3);
        if (code != "=2C" && code != "=3D") return {};
        out += code == "=2C" ? ',' : '=';
        i += 2;
    }
    if (out.empty()) return {};
    return out;
}

bool same_secret(std::string_view a, std::string_view b) { // in the same time wherever they differ
    if (a.size() != b.size()) return false;
    unsigned char differ = 0;
    for (std::size_t i = 0; i < a.size(); ++i) differ |= static_cast<unsigned char>(a[i] ^ b[i]);
    return differ == 0;
}

} // namespace

std::string gs2_name(std::string_view name) {
    std::string out;
    for (const char c : name) {
        if (c == ',' || c == '=')
            out += c == ',' ? "=2C" : "=3D";
        else
            out += c;
    }
    return out;
}

std::optional<ScramKeys> ScramKeys::parse(std::string_view text) {
    ScramKeys keys;
    const auto iterations = parse_number(take_field(text), 100'000'000);
    auto salt = decode_base64(take_field(text)), stored = decode_base64(take_field(text)),
         server = decode_base64(take_field(text));
    if (!iterations || *iterations == 0 || !salt || salt->empty() || !stored || stored->size() != 32 || !server ||
        server->size() != 32 || !text.empty())
        return {};
    keys.iterations = static_cast<std::uint32_t>(*iterations);
    keys.salt = *std::move(salt);
    keys.stored_key = *std::move(stored);
    keys.server_key = *std::move(server);
    return keys;
}

std::string ScramKeys::text() const {
    return fmt::format("{},{},{},{}", iterations, encode_base64(salt), encode_base64(stored_key),
                       encode_base64(server_key));
}

std::expected<std::string, Malformed> ScramServer::first(std::string_view message) {
    const auto whole = message;
    const auto flag = take_field(message);
    if (plus_ == Plus::chosen) {
        if (!flag.starts_with("p=")) return malformed("the channel binding is missing");
        bound_ = binding_ ? binding_(flag.substr(2)) : std::string();
        if (bound_.empty()) return malformed("that kind of channel binding is not available");
    } else if (flag == "y") {
        if (plus_ == Plus::offered) return malformed("channel binding was removed by a third party");
    } else if (flag != "n") {
        return malformed("invalid channel binding flag");
    }
    const auto authorization = take_field(message);
    header_ = whole.substr(0, whole.size() - message.size());
    client_first_ = message;
    const auto name = take_field(message);
    const auto nonce = take_field(message);
    const auto user = name.starts_with("n=") ? decode_name(name.substr(2)) : std::nullopt;
    if (!user) return malformed("no user name");
    if (!nonce.starts_with("r=") || nonce.size() < 3 || nonce.size() > 200) return malformed("no nonce");
    if (!std::ranges::all_of(nonce, is_printable)) return malformed("invalid nonce");
    if (!authorization.empty() && (!authorization.starts_with("a=") || decode_name(authorization.substr(2)) != user))
        return malformed("acting for another user is not allowed");
    nonce_ = std::string(nonce.substr(2)) + nonce_;
    return *user;
}

std::string ScramServer::challenge(const ScramKeys& keys) {
    keys_ = keys;
    server_first_ = fmt::format("r={},s={},i={}", nonce_, encode_base64(keys.salt), keys.iterations);
    return server_first_;
}

std::expected<std::string, Malformed> ScramServer::final(std::string_view message) {
    const auto proof_at = message.rfind(",p=");
    if (proof_at == message.npos) return malformed("no proof");
    const auto without_proof = message.substr(0, proof_at);
    const auto proof = decode_base64(message.substr(proof_at + 3));
    auto fields = without_proof;
    const auto binding = take_field(fields), nonce = take_field(fields);
    if (!binding.starts_with("c=") || decode_base64(binding.substr(2)) != header_ + bound_)
        return malformed("channel binding mismatch");
    if (nonce != "r=" + nonce_) return malformed("nonce mismatch");
    if (!proof || proof->size() != 32) return malformed("no proof");
    const auto said = fmt::format("{},{},{}", client_first_, server_first_, without_proof);
    auto client_key = crypto_.hmac(keys_.stored_key, said);
    for (std::size_t i = 0; i < client_key.size(); ++i) client_key[i] ^= (*proof)[i];
    if (!same_secret(crypto_.hash(client_key), keys_.stored_key)) return malformed("wrong password");
    return "v=" + encode_base64(crypto_.hmac(keys_.server_key, said));
}

ScramClient::ScramClient(const ScramCrypto& crypto, Derive derive, std::string user, Secret password, std::string nonce,
                         Binding binding)
    : crypto_(crypto), derive_(std::move(derive)), password_(std::move(password)), nonce_(std::move(nonce)),
      header_(!binding.type.empty()          ? "p=" + binding.type + ",,"
              : binding.server_lacks_support ? "y,,"
                                             : "n,,"),
      bound_(binding.type.empty() ? std::string() : std::move(binding.data)),
      first_bare_(fmt::format("n={},r={}", gs2_name(user), nonce_)) {}

std::string ScramClient::first() const { return header_ + first_bare_; }

std::expected<std::string, Malformed> ScramClient::final(std::string_view message) {
    if (message.size() > longest) return malformed("its first message is too long");
    auto fields = message;
    const auto nonce = take_field(fields);
    if (nonce.starts_with("m=")) return malformed("it requires an unknown extension");
    const auto salt_field = take_field(fields), count = take_field(fields);
    if (!nonce.starts_with("r=") || !nonce.substr(2).starts_with(nonce_) || nonce.size() <= 2 + nonce_.size() ||
        !std::ranges::all_of(nonce, is_printable))
        return malformed("its nonce does not continue ours");
    const auto salt = salt_field.starts_with("s=") ? decode_base64(salt_field.substr(2)) : std::nullopt;
    if (!salt || salt->empty()) return malformed("no salt");
    const auto iterations = count.starts_with("i=") ? parse_number(count.substr(2)) : std::nullopt;
    if (!iterations) return malformed("the number of iterations is missing");
    if (*iterations < min_iterations || *iterations > max_iterations)
        return malformed(
            fmt::format("it requires {} iterations: expected {} to {}", *iterations, min_iterations, max_iterations));
    const auto salted = derive_(password_.reveal(), *salt, static_cast<std::uint32_t>(*iterations));
    auto proof = crypto_.hmac(salted.reveal(), "Client Key");
    const auto without_proof = fmt::format("c={},{}", encode_base64(header_ + bound_), nonce);
    const auto said = fmt::format("{},{},{}", first_bare_, message, without_proof);
    const auto signature = crypto_.hmac(crypto_.hash(proof), said);
    for (std::size_t i = 0; i < proof.size(); ++i) proof[i] ^= signature[i];
    server_signature_ = crypto_.hmac(crypto_.hmac(salted.reveal(), "Server Key"), said);
    return fmt::format("{},p={}", without_proof, encode_base64(proof));
}

std::expected<void, Malformed> ScramClient::verify(std::string_view message) {
    if (message.size() > longest) return malformed("its last message is too long");
    const auto field = take_field(message);
    if (field.starts_with("e=")) return malformed(fmt::format("it says {}", printable(field.substr(2), 100)));
    const auto signature = field.starts_with("v=") ? decode_base64(field.substr(2)) : std::nullopt;
    if (server_signature_.empty() || !signature || !same_secret(*signature, server_signature_))
        return malformed("it did not prove that it knows the password");
    return {};
}

} // namespace smtp
