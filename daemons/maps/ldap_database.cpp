#include "daemons/maps/ldap_database.h"
#include "libsmtp/text/text.h"
#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <unistd.h>

namespace maps {

namespace {

timeval time_until(Deadline deadline) {
    const auto left = remaining(deadline).count();
    return {left / 1000, static_cast<suseconds_t>(left % 1000 * 1000)};
}

// As the value of an assertion in a filter (RFC 4515), by the library.
std::string in_filter(std::string_view value) {
    berval in{value.size(), const_cast<char*>(value.data())}, out{};
    if (ldap_bv2escaped_filter_value(&in, &out) != 0) return {};
    std::string escaped(out.bv_val, out.bv_len);
    ldap_memfree(out.bv_val);
    return escaped;
}

// As the value of an attribute in a name (RFC 4514): whatever might be special, in hexadecimal digits.
std::string in_name(std::string_view value) {
    std::string out;
    for (const unsigned char c : value) {
        const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                           c == '.' || c == '@' || c == '_' || c >= 0x80;
        out += plain ? std::string(1, static_cast<char>(c)) : fmt::format("\\{:02x}", c);
    }
    return out;
}

struct FreeMessage {
    void operator()(LDAPMessage* message) const { ldap_msgfree(message); }
};
using Message = std::unique_ptr<LDAPMessage, FreeMessage>;

bool is_connection_error(int code) {
    return code == LDAP_SERVER_DOWN || code == LDAP_CONNECT_ERROR || code == LDAP_UNAVAILABLE || code == LDAP_TIMEOUT ||
           code == LDAP_LOCAL_ERROR || code == LDAP_ENCODING_ERROR || code == LDAP_DECODING_ERROR;
}

constexpr std::size_t most_names = 20'000; // entries that one lookup follows

// The authorities that this system trusts; "" unknown.
std::string system_authorities() {
    for (const char* path : {"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt"})
        if (::access(path, R_OK) == 0) return path;
    return {};
}

// "mail;lang-en" is one of "mail".
bool is_attribute(std::string_view found, std::string_view wanted) {
    return found.size() >= wanted.size() && smtp::same_ignoring_case(found.substr(0, wanted.size()), wanted) &&
           (found.size() == wanted.size() || found[wanted.size()] == ';');
}

bool is_directory_url(std::string_view name) {
    const auto scheme = name.substr(0, name.find("://"));
    return scheme.size() < name.size() &&
           (smtp::same_ignoring_case(scheme, "ldap") || smtp::same_ignoring_case(scheme, "ldaps") ||
            smtp::same_ignoring_case(scheme, "ldapi"));
}

int library_scope(tables::LdapScope scope) {
    return scope == tables::LdapScope::base  ? LDAP_SCOPE_BASE
           : scope == tables::LdapScope::one ? LDAP_SCOPE_ONELEVEL
                                             : LDAP_SCOPE_SUBTREE;
}

} // namespace

// Its own files, among them those of the directory it runs in, and its environment would change what tables mean.
void LdapDatabase::prepare() {
    ::setenv("LDAPNOINIT", "1", 1);
    int debug = 0;
    ldap_get_option(nullptr, LDAP_OPT_DEBUG_LEVEL, &debug); // initialises the library
}

LdapDatabase::~LdapDatabase() {
    if (connection_) ldap_unbind_ext_s(connection_, nullptr, nullptr);
}

std::string LdapDatabase::error_text(int code) const {
    char* diagnostic = nullptr;
    ldap_get_option(connection_, LDAP_OPT_DIAGNOSTIC_MESSAGE, &diagnostic);
    std::string out = ldap_err2string(code);
    if (diagnostic && *diagnostic) out += fmt::format(": {}", diagnostic);
    if (diagnostic) ldap_memfree(diagnostic);
    return smtp::printable(out, 300);
}

std::expected<void, std::string> LdapDatabase::connect(const tables::DatabaseServer& server, Deadline deadline) {
    const auto& ldap = table_.ldap;
    const auto& tls = table_.tls;
    if (const int code = ldap_initialize(&connection_, server.url.c_str()); code != LDAP_SUCCESS)
        return std::unexpected(std::string(ldap_err2string(code)));
    const auto time = time_until(deadline);
    bool settings_valid = true;
    const auto set = [&](int option, const void* value) {
        settings_valid = ldap_set_option(connection_, option, value) == LDAP_OPT_SUCCESS && settings_valid;
    };
    const auto set_text = [&](int option, const std::string& value) {
        if (!value.empty()) set(option, value.c_str());
    };
    ldap_set_option(connection_, LDAP_OPT_PROTOCOL_VERSION, &ldap.version);
    ldap_set_option(connection_, LDAP_OPT_NETWORK_TIMEOUT, &time);
    ldap_set_option(connection_, LDAP_OPT_TIMEOUT, &time);
    ldap_set_option(connection_, LDAP_OPT_REFERRALS, ldap.chase_referrals ? LDAP_OPT_ON : LDAP_OPT_OFF);
    ldap_set_option(connection_, LDAP_OPT_RESTART, LDAP_OPT_OFF);
    ldap_set_option(connection_, LDAP_OPT_DEREF, &ldap.dereference);
    const int verify = tls.verify ? LDAP_OPT_X_TLS_DEMAND : LDAP_OPT_X_TLS_NEVER, client = 0;
    const bool has_authorities = !tls.ca_file.empty() || !tls.ca_directory.empty();
    set_text(LDAP_OPT_X_TLS_CACERTFILE, has_authorities || !tls.verify ? tls.ca_file : system_authorities());
    set_text(LDAP_OPT_X_TLS_CACERTDIR, tls.ca_directory);
    set_text(LDAP_OPT_X_TLS_CERTFILE, tls.certificate);
    set_text(LDAP_OPT_X_TLS_KEYFILE, tls.key);
    set_text(LDAP_OPT_X_TLS_CIPHER_SUITE, tls.ciphers);
    set(LDAP_OPT_X_TLS_REQUIRE_CERT, &verify);
    set(LDAP_OPT_X_TLS_NEWCTX, &client);
    if (!settings_valid) return std::unexpected(std::string("a tls_ setting of the file cannot be used"));
    if (ldap.start_tls)
        if (const int code = ldap_start_tls_s(connection_, nullptr, nullptr); code != LDAP_SUCCESS)
            return std::unexpected(fmt::format("STARTTLS: {}", error_text(code)));
    return bind(deadline);
}

// Also without a name: it shows whether the server answers.
std::expected<void, std::string> LdapDatabase::bind(Deadline deadline) {
    const bool named = table_.ldap.bind && !table_.user.empty();
    std::string password(named ? table_.password.reveal() : std::string_view{});
    berval secret{password.size(), password.data()};
    int number = 0;
    int code = ldap_sasl_bind(connection_, named ? table_.user.c_str() : "", LDAP_SASL_SIMPLE, &secret, nullptr,
                              nullptr, &number);
    explicit_bzero(password.data(), password.size());
    if (code != LDAP_SUCCESS) return std::unexpected(error_text(code));
    auto time = time_until(deadline);
    LDAPMessage* raw = nullptr;
    const int kind = ldap_result(connection_, number, LDAP_MSG_ALL, &time, &raw);
    const Message message(raw);
    if (kind == 0) return std::unexpected(std::string("no answer in time"));
    if (kind < 0) {
        ldap_get_option(connection_, LDAP_OPT_RESULT_CODE, &code);
        return std::unexpected(error_text(code));
    }
    if (ldap_parse_result(connection_, message.get(), &code, nullptr, nullptr, nullptr, nullptr, 0) == LDAP_SUCCESS &&
        code == LDAP_SUCCESS)
        return {};
    return std::unexpected(
        fmt::format("bind{}: {}", named ? fmt::format(" as {}", table_.user) : "", error_text(code)));
}

Outcome LdapDatabase::search_failed(int code) {
    if (is_connection_error(code)) return unavailable(error_text(code), true, true);
    const bool passing = code == LDAP_BUSY || code == LDAP_TIMELIMIT_EXCEEDED || code == LDAP_SIZELIMIT_EXCEEDED ||
                         code == LDAP_ADMINLIMIT_EXCEEDED;
    return unavailable(fmt::format("the search failed: {}", error_text(code)), !passing, false);
}

// False: no more is to be read.
bool LdapDatabase::take_entry(LDAPMessage* entry, tables::ResultValues& values, Names& names, std::size_t depth) {
    std::vector<std::string> there;
    BerElement* position = nullptr;
    for (char* name = ldap_first_attribute(connection_, entry, &position); name;
         name = ldap_next_attribute(connection_, entry, position)) {
        there.emplace_back(name);
        ldap_memfree(name);
    }
    if (position) ber_free(position, 0);
    const auto each_value = [&](const std::string& wanted, auto take) {
        bool goes_on = true;
        for (const auto& attribute : there) {
            if (!goes_on || !is_attribute(attribute, wanted)) continue;
            berval** all = ldap_get_values_len(connection_, entry, attribute.c_str());
            for (auto** one = all; one && *one && goes_on; ++one)
                goes_on = take(std::string_view((*one)->bv_val, (*one)->bv_len));
            if (all) ldap_value_free_len(all);
        }
        return goes_on;
    };
    for (const auto& attribute : table_.ldap.attributes)
        if (!each_value(attribute, [&](std::string_view value) { return values.add(value); })) return false;
    for (const auto& attribute : table_.ldap.dn_attributes)
        if (!each_value(attribute, [&](std::string_view name) { return names.add(name, depth + 1); })) return false;
    return true;
}

bool LdapDatabase::Names::add(std::string_view name, std::size_t depth) {
    if (!seen.emplace(name).second) return true;
    if (depth > deepest)
        problem = fmt::format("groups are nested deeper than recursion_limit permits ({})", deepest);
    else if (seen.size() > most_names)
        problem = fmt::format("the group has more than {} members", most_names);
    else if (is_directory_url(name))
        problem =
            fmt::format("a group has the address {}: only names of entries are followed", smtp::printable(name, 200));
    else
        to_do.emplace_back(name, depth);
    return problem.empty();
}

std::optional<Outcome> LdapDatabase::search(const Search& what, tables::ResultValues& values, Names& names,
                                            Deadline deadline) {
    attributes_.clear();
    for (const auto* list : {&table_.ldap.attributes, &table_.ldap.dn_attributes})
        for (const auto& each : *list) attributes_.push_back(const_cast<char*>(each.c_str()));
    attributes_.push_back(nullptr);
    int number = 0;
    auto time = time_until(deadline);
    const auto failed = [&](int code) {
        auto outcome = search_failed(code);
        if (what.of_key && !outcome.lost) outcome.whole_table = false; // this name, or this base, is at fault
        return outcome;
    };
    if (const int code =
            ldap_search_ext(connection_, what.base.c_str(), what.scope, what.filter.c_str(), attributes_.data(), 0,
                            nullptr, nullptr, &time, static_cast<int>(table_.ldap.size_limit), &number);
        code != LDAP_SUCCESS)
        return failed(code);
    for (;;) {
        time = time_until(deadline);
        LDAPMessage* raw = nullptr;
        const int kind = Clock::now() < deadline ? ldap_result(connection_, number, LDAP_MSG_ONE, &time, &raw) : 0;
        const Message message(raw);
        if (kind == 0) {
            ldap_abandon_ext(connection_, number, nullptr, nullptr);
            return unavailable("no answer in time", false, true);
        }
        int code = LDAP_SUCCESS;
        if (kind < 0) {
            ldap_get_option(connection_, LDAP_OPT_RESULT_CODE, &code);
            return search_failed(code == LDAP_SUCCESS ? LDAP_SERVER_DOWN : code);
        }
        if (kind == LDAP_RES_SEARCH_ENTRY && !take_entry(message.get(), values, names, what.depth)) {
            ldap_abandon_ext(connection_, number, nullptr, nullptr);
            if (!names.problem.empty()) return unavailable(names.problem, false, true);
            return Outcome{values.answer(), false, true};
        }
        if (kind != LDAP_RES_SEARCH_RESULT) continue; // an entry, or a referral that is not followed
        if (ldap_parse_result(connection_, message.get(), &code, nullptr, nullptr, nullptr, nullptr, 0) != LDAP_SUCCESS)
            return search_failed(LDAP_DECODING_ERROR);
        if (code == LDAP_SUCCESS || (code == LDAP_NO_SUCH_OBJECT && what.of_key)) return std::nullopt;
        return failed(code);
    }
}

Outcome LdapDatabase::look_up(const std::string& key, Deadline deadline) {
    const auto base = table_.ldap.base.expand(key, key, in_name),
               filter = table_.ldap.filter.expand(key, key, in_filter);
    if (!base || !filter) return {};
    tables::ResultValues values(table_.result_format, key, table_.expansion_limit);
    Names names;
    names.deepest = table_.ldap.recursion_limit;
    if (auto ended = search({*base, *filter, library_scope(table_.ldap.scope), table_.ldap.base.has_placeholders(), 0},
                            values, names, deadline))
        return *std::move(ended);
    while (!names.to_do.empty()) { // groups: each entry once
        const auto [name, depth] = std::move(names.to_do.front());
        names.to_do.pop_front();
        if (auto ended = search({name, "(objectclass=*)", LDAP_SCOPE_BASE, true, depth}, values, names, deadline))
            return *std::move(ended);
    }
    return {values.answer()};
}

} // namespace maps
