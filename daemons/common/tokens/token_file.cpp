#include "daemons/common/tokens/token_file.h"
#include "daemons/common/runtime/random.h"
#include "libsmtp/text/base64.h"
#include "libsmtp/text/date.h"
#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <set>

namespace tokens {

using nlohmann::json;

namespace {

std::vector<std::string> texts(const json& line, const char* member, std::size_t most) {
    std::vector<std::string> out;
    for (const auto& each : line.value(member, json::array())) out.push_back(each.get<std::string>());
    if (out.size() > most) throw std::invalid_argument(fmt::format("{} has more than {} values", member, most));
    return out;
}

std::optional<smtp::WallTime> time_of(const json& line, const char* member) {
    const auto text = line.value(member, std::string());
    if (text.empty()) return {};
    const auto time = smtp::parse_rfc3339(text);
    if (!time) throw std::invalid_argument(fmt::format("{}: \"{}\" is not a time", member, text));
    return time;
}

bool is_hash(std::string_view text) {
    return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == text.npos;
}

Token token_of(const json& line) {
    Token token;
    token.name = line.at("name").get<std::string>();
    token.hash = line.at("sha256").get<std::string>();
    if (!is_valid_name(token.name)) throw std::invalid_argument("the name is not valid");
    if (!is_hash(token.hash)) throw std::invalid_argument("sha256 is not valid");
    for (const auto& name : texts(line, "scopes", 20)) {
        const auto scope = scope_named(name);
        if (!scope) throw std::invalid_argument(fmt::format("there is no scope \"{}\"", name));
        token.scopes.add(*scope);
    }
    token.submitter = line.value("submitter", "token:" + token.name);
    token.sender_domains = texts(line, "sender_domains", Token::most_domains);
    for (const auto& text : texts(line, "networks", Token::most_networks)) {
        const auto network = common::Network::parse(text);
        if (!network) throw std::invalid_argument(fmt::format("\"{}\" is not a network", text));
        token.networks.push_back(*network);
    }
    token.created = time_of(line, "created").value_or(smtp::WallTime{});
    token.expires = time_of(line, "expires");
    token.rate = line.value("rate", std::uint32_t{0});
    return token;
}

} // namespace

std::expected<std::vector<Token>, std::string> parse(std::string_view text) {
    std::vector<Token> out;
    std::set<std::string> names;
    for (std::size_t number = 1; !text.empty(); ++number) {
        const auto end = std::min(text.find('\n'), text.size());
        const auto line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        if (line.empty()) continue;
        const auto wrong = [&](std::string_view why) {
            return std::unexpected(fmt::format("line {}: {}", number, why));
        };
        if (out.size() == Token::most) return wrong(fmt::format("more than {} tokens", Token::most));
        try {
            out.push_back(token_of(json::parse(line)));
        } catch (const std::exception& odd) { // of the JSON library, and the values above
            return wrong(odd.what());
        }
        if (!names.insert(out.back().name).second)
            return wrong(fmt::format("there is another token \"{}\"", out.back().name));
    }
    return out;
}

std::string text_of(const std::vector<Token>& tokens) {
    std::string out;
    for (const auto& each : tokens) {
        json line = {{"name", each.name},
                     {"sha256", each.hash},
                     {"scopes", each.scopes.names()},
                     {"submitter", each.submitter},
                     {"sender_domains", each.sender_domains},
                     {"networks", json::array()},
                     {"created", smtp::rfc3339_date(each.created)},
                     {"expires", each.expires ? smtp::rfc3339_date(*each.expires) : std::string()},
                     {"rate", each.rate}};
        for (const auto& network : each.networks) line["networks"].push_back(network.to_string());
        out += line.dump() + "\n";
    }
    return out;
}

std::string new_secret() {
    auto text = smtp::encode_base64(common::random_bytes(32));
    std::ranges::replace(text, '+', '-');
    std::ranges::replace(text, '/', '_');
    std::erase(text, '=');
    return std::string(secret_prefix) + text;
}

std::string hash_of(std::string_view secret) {
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    EVP_Digest(secret.data(), secret.size(), digest, &size, EVP_sha256(), nullptr);
    std::string out;
    for (unsigned i = 0; i < size; ++i) out += fmt::format("{:02x}", digest[i]);
    return out;
}

const Token* find(const std::vector<Token>& tokens, std::string_view secret) {
    const auto hash = hash_of(secret);
    const Token* found = nullptr;
    for (const auto& each : tokens)
        if (each.hash.size() == hash.size() && CRYPTO_memcmp(each.hash.data(), hash.data(), hash.size()) == 0)
            found = &each;
    return found;
}

} // namespace tokens
