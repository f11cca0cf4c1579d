#include "daemons/common/history/index_key.h"
#include <cassert>
#include <nlohmann/json.hpp>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/params.h>

namespace history {

using nlohmann::json;

void IndexHash::Free::operator()(evp_mac_ctx_st* context) const { EVP_MAC_CTX_free(context); }

IndexHash::IndexHash(std::string_view secret) : secret_(secret) {
    assert(secret_.size() == index_secret_size);
    EVP_MAC* siphash = EVP_MAC_fetch(nullptr, "SIPHASH", nullptr);
    assert(siphash != nullptr);
    context_.reset(EVP_MAC_CTX_new(siphash));
    EVP_MAC_free(siphash);
    assert(context_ != nullptr);
}

IndexKey IndexHash::hash(char kind, std::string_view value) const {
    std::size_t size = sizeof(std::uint64_t);
    unsigned char out[16] = {};
    const OSSL_PARAM parameters[] = {OSSL_PARAM_construct_size_t(OSSL_MAC_PARAM_SIZE, &size),
                                     OSSL_PARAM_construct_end()};
    const auto bytes = [](std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); };
    const bool done = EVP_MAC_init(context_.get(), bytes(secret_), secret_.size(), parameters) == 1 &&
                      EVP_MAC_update(context_.get(), bytes({&kind, 1}), 1) == 1 &&
                      EVP_MAC_update(context_.get(), bytes(value), value.size()) == 1 &&
                      EVP_MAC_final(context_.get(), out, &size, sizeof out) == 1;
    assert(done);
    IndexKey key = 0;
    for (unsigned i = 0; i < index_key_bits / 8; ++i) key = key << 8 | out[i];
    return key;
}

void IndexHash::keys_of(const json& event, std::vector<IndexKey>& into) const {
    into.clear();
    const auto add = [&](char kind, std::string_view value) {
        if (!value.empty() && into.size() < most_keys) into.push_back(hash(kind, value));
    };
    add('i', lowered(string_of(event, "id")));
    add('m', bare_message_id(lowered(string_of(event, "message_id"))));
    const auto sender = lowered(string_of(event, "sender"));
    add('f', sender);
    add('g', domain_of(sender));
    add('s', lowered(string_of(event, "submitter")));
    add('k', lowered(string_of(event, "idempotency_key")));
    const auto add_named = [&](char kind, std::string_view object) {
        const auto values = event.find(object);
        if (values == event.end() || !values->is_object()) return;
        for (const auto& [name, value] : values->items())
            if (value.is_string()) add(kind, name + '=' + lowered(value.get<std::string>()));
    };
    add_named('x', "meta");
    add_named('h', "headers");
    for (const auto& recipient : recipients_of(event)) {
        add('a', lowered(recipient));
        add('d', domain_of(recipient));
    }
}

std::optional<std::vector<IndexKey>> IndexHash::keys_of(const QueryTerm& term) const {
    std::vector<IndexKey> keys;
    for (const std::string& pattern : term.patterns) {
        // "*@example.org": the index has the domains, too.
        const bool domain = pattern.starts_with("*@");
        const auto value = std::string_view(pattern).substr(domain ? 2 : 0);
        if (value.empty() || value.find_first_of("*?") != value.npos) return {};
        const auto add_addresses = [&](bool recipient, bool sender) {
            if (recipient) keys.push_back(hash(domain ? 'd' : 'a', value));
            if (sender) keys.push_back(hash(domain ? 'g' : 'f', value));
        };
        switch (term.subject) {
        case Subject::id: keys.push_back(hash('i', value)); break;
        case Subject::message_id: keys.push_back(hash('m', value)); break;
        case Subject::anything:
            if (domain) return {}; // of a Message-ID the domain is not in the index
            add_addresses(true, true);
            keys.push_back(hash('m', value));
            break;
        case Subject::address: add_addresses(true, true); break;
        case Subject::recipient: add_addresses(true, false); break;
        case Subject::sender: add_addresses(false, true); break;
        case Subject::domain: keys.push_back(hash('d', value)); break;
        case Subject::meta: keys.push_back(hash('x', term.member + '=' + std::string(value))); break;
        case Subject::member:
            if (term.member == "submitter")
                keys.push_back(hash('s', value));
            else if (term.member == "idempotency_key")
                keys.push_back(hash('k', value));
            else
                return {};
            break;
        case Subject::header: keys.push_back(hash('h', term.member + '=' + std::string(value))); break;
        default: return {};
        }
        if (domain &&
            (term.subject == Subject::id || term.subject == Subject::message_id || term.subject == Subject::domain ||
             term.subject == Subject::meta || term.subject == Subject::header || term.subject == Subject::member))
            return {};
    }
    return keys;
}

} // namespace history
