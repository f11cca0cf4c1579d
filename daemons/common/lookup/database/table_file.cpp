#include "daemons/common/lookup/database/table_file.h"
#include "daemons/common/lookup/database/file_parameters.h"
#include "daemons/common/lookup/format/key_value.h"
#include <algorithm>
#include <fmt/format.h>

namespace tables {

namespace {

using namespace std::chrono_literals;

// A literal key in the form SELECT … of files that are older than "query".
std::string older_query(FileParameters& file) {
    const auto table = file.text("table"), select = file.text("select_field"), where = file.text("where_field");
    const auto function = file.text("select_function"), conditions = file.text("additional_conditions");
    if (!function.empty()) return fmt::format("SELECT {}('%s')", function);
    if (table.empty() || select.empty() || where.empty()) return {};
    return fmt::format("SELECT {} FROM {} WHERE {} = '%s' {}", select, table, where, conditions);
}

void read_sql(FileParameters& file, DatabaseTable& table) {
    const auto dialect = table.kind == Kind::mysql ? SqlDialect::mysql : SqlDialect::pgsql;
    table.user = file.text("user");
    table.password = smtp::Secret(file.text("password"));
    table.database = file.text("dbname");
    auto query = file.text("query");
    const auto older = older_query(file);
    if (query.empty()) query = older;
    if (query.empty()) return file.missing("query");
    if (auto read = SqlQuery::parse(query, dialect))
        table.query = *std::move(read);
    else
        file.refuse("query", read.error().why);
    table.charset = file.text("charset", file.text("encoding", table.kind == Kind::mysql ? "utf8mb4" : "UTF8"));
    table.requires_result_set = file.yes_or_no("require_result_set", true);
    if (table.kind == Kind::pgsql && table.database.empty()) file.missing("dbname");
}

void read_ldap(FileParameters& file, DatabaseTable& table) {
    auto& ldap = table.ldap;
    ldap.base = file.parsed_template("search_base", "");
    ldap.filter = file.parsed_template("query_filter", "(mailacceptinggeneralid=%s)");
    const auto scope = file.text("scope", "sub");
    if (scope == "base" || scope == "one")
        ldap.scope = scope == "base" ? LdapScope::base : LdapScope::one;
    else if (scope != "sub")
        file.refuse("scope", "expected sub, base or one");
    ldap.attributes = file.words("result_attribute", "maildrop");
    ldap.dn_attributes = file.words("special_result_attribute", "");
    const auto bind = file.text("bind", "yes");
    if (bind == "sasl")
        file.unsupported("bind", "SASL is not supported: expected yes, simple or no");
    else if (bind == "no" || bind == "none")
        ldap.bind = false;
    else if (bind != "yes" && bind != "simple")
        file.refuse("bind", "expected yes, simple or no");
    table.user = file.text("bind_dn");
    table.password = smtp::Secret(file.text("bind_pw"));
    if (ldap.bind && !table.user.empty() && table.password.empty())
        file.note("bind_dn", "bind_pw is missing: servers take this as anonymous, or refuse it");
    ldap.version = static_cast<int>(file.number("version", 3, 2, 3));
    ldap.start_tls = file.yes_or_no("start_tls", false);
    if (ldap.start_tls && ldap.version == 2) file.refuse("start_tls", "version = 3 is required");
    ldap.dereference = static_cast<int>(file.number("dereference", 0, 0, 3));
    ldap.chase_referrals = file.yes_or_no("chase_referrals", false);
    ldap.size_limit = file.number("size_limit", 0, 0, 1'000'000);
    ldap.recursion_limit = file.number("recursion_limit", 1000, 1, 100'000);
    if (ldap.base.pieces().empty()) file.note("search_base", "it is empty: the whole directory is searched");
}

std::optional<DatabaseServer> server_at(std::string_view text) {
    DatabaseServer out;
    if (text.starts_with("unix:")) {
        out.socket = text.substr(5);
        if (!out.socket.starts_with('/')) return std::nullopt;
        return out;
    }
    if (text.starts_with("inet:")) text.remove_prefix(5);
    auto name = text;
    std::string_view port;
    if (text.starts_with('[')) {
        const auto end = text.find(']');
        if (end == text.npos) return std::nullopt;
        name = text.substr(1, end - 1);
        if (end + 1 < text.size()) {
            if (text[end + 1] != ':') return std::nullopt;
            port = text.substr(end + 2);
            if (port.empty()) return std::nullopt;
        }
    } else if (std::ranges::count(text, ':') == 1) {
        name = text.substr(0, text.find(':'));
        port = text.substr(name.size() + 1);
        if (port.empty()) return std::nullopt;
    }
    if (name.empty() || name.find('/') != name.npos) return std::nullopt;
    out.name = name;
    if (!port.empty()) {
        const auto number = smtp::parse_number(port, 65535);
        if (!number || *number == 0) return std::nullopt;
        out.port = static_cast<std::uint16_t>(*number);
    }
    return out;
}

std::optional<DatabaseServer> directory_at(std::string_view text, std::uint16_t port) {
    DatabaseServer out;
    for (const std::string_view scheme : {"ldap://", "ldaps://", "ldapi://"})
        if (text.starts_with(scheme)) {
            out.url = text;
            return out;
        }
    const auto server = server_at(text);
    if (!server || !server->socket.empty()) return std::nullopt;
    const bool six = server->name.find(':') != std::string::npos;
    out.url = fmt::format("ldap://{0}{1}{2}:{3}", six ? "[" : "", server->name, six ? "]" : "",
                          server->port != 0 ? server->port : port);
    return out;
}

void read_servers(FileParameters& file, DatabaseTable& table) {
    constexpr std::size_t most_servers = 20;
    const bool ldap = table.kind == Kind::ldap;
    const std::string_view name = ldap ? "server_host" : "hosts";
    const auto port = static_cast<std::uint16_t>(ldap ? file.number("server_port", 389, 1, 65535) : 0);
    for (const auto& word : file.words(name, "localhost")) {
        if (!ldap && word.find("://") != word.npos) {
            file.unsupported(name, "connection URLs are not supported: expected HOST, HOST:PORT or unix:PATH");
            continue;
        }
        if (auto server = ldap ? directory_at(word, port) : server_at(word))
            table.servers.push_back(*std::move(server));
        else
            file.refuse(name, ldap ? "expected HOST, HOST:PORT, ldap://…, ldaps://… or ldapi://…"
                                   : "expected HOST, HOST:PORT, inet:HOST:PORT or unix:/PATH");
    }
    if (table.servers.size() > most_servers) file.refuse(name, fmt::format("more than {} servers", most_servers));
}

void read_tls(FileParameters& file, DatabaseTable& table) {
    auto& tls = table.tls;
    if (table.kind == Kind::mysql) {
        tls.ca_file = file.text("tls_cafile");
        tls.ca_directory = file.text("tls_capath");
        tls.certificate = file.text("tls_cert_file");
        tls.key = file.text("tls_key_file");
        tls.ciphers = file.text("tls_ciphers");
        tls.verify = file.yes_or_no("tls_verify_cert", false);
        tls.required = tls.verify || !(tls.ca_file + tls.ca_directory + tls.certificate).empty();
    } else if (table.kind == Kind::ldap) {
        tls.ca_file = file.text("tls_ca_cert_file");
        tls.ca_directory = file.text("tls_ca_cert_dir");
        tls.certificate = file.text("tls_cert");
        tls.key = file.text("tls_key");
        tls.ciphers = file.text("tls_cipher_suite");
        tls.verify = file.yes_or_no("tls_require_cert", false);
    } else {
        tls.required = file.yes_or_no("tls_required", false);
        tls.verify = file.yes_or_no("tls_verify_cert", false);
        tls.ca_file = file.text("tls_cafile");
        tls.certificate = file.text("tls_cert_file");
        tls.key = file.text("tls_key_file");
        if (tls.verify) tls.required = true;
        if (tls.verify && tls.ca_file.empty()) file.refuse("tls_verify_cert", "tls_CAfile is required");
    }
    if (tls.certificate.empty() != tls.key.empty())
        file.refuse(table.kind == Kind::ldap ? "tls_cert" : "tls_cert_file", "a certificate and its key are required");
}

void read_domains(FileParameters& file, DatabaseTable& table) {
    constexpr std::size_t most_domains = 10'000;
    for (const auto& word : file.words("domain", "")) {
        if (word.find('/') != word.npos || word.find(':') != word.npos)
            file.unsupported("domain", "lists in other files or tables are not supported: write the domains here");
        else
            table.domains.push_back(folded_key(word));
    }
    if (table.domains.size() > most_domains) file.refuse("domain", fmt::format("more than {} domains", most_domains));
}

} // namespace

std::string DatabaseServer::text() const {
    if (!url.empty()) return url;
    if (!socket.empty()) return "unix:" + socket;
    const bool six = name.find(':') != std::string::npos;
    const auto host = six ? fmt::format("[{}]", name) : name;
    return port == 0 ? host : fmt::format("{}:{}", host, port);
}

std::string FileProblem::text() const {
    const auto what = parameter.empty() ? why : fmt::format("{}: {}", parameter, why);
    return line == 0 ? what : fmt::format("line {}: {}", line, what);
}

bool DatabaseTable::asks_for(std::string_view key) const {
    if (key.empty() || !result_format.suits(key)) return false;
    if (domains.empty()) return true;
    const auto local = part_of('u', key, key), domain = part_of('d', key, key);
    if (!local || !domain) return false;
    for (const auto& each : domains) {
        const bool excluded = each.starts_with('!');
        if (std::string_view(each).substr(excluded) == *domain) return !excluded;
    }
    return false;
}

std::expected<DatabaseTable, std::vector<FileProblem>> read_table_file(Kind kind, std::string_view text) {
    auto read = read_parameters(text);
    if (!read) return std::unexpected(std::vector<FileProblem>{{0, "", read.error().why, false}});
    FileParameters file(*std::move(read));
    DatabaseTable table;
    table.kind = kind;
    read_servers(file, table);
    if (kind == Kind::ldap)
        read_ldap(file, table);
    else
        read_sql(file, table);
    read_tls(file, table);
    read_domains(file, table);
    table.result_format = file.parsed_template("result_format", file.text("result_filter", "%s"));
    if (table.result_format.pieces().empty()) file.refuse("result_format", "it is empty");
    table.expansion_limit = file.number("expansion_limit", 0, 0, 1'000'000);
    table.timeout = file.time("timeout", 10s, 1s, 20s);
    table.idle_interval = file.time("idle_interval", 60s, 1s, 1h);
    table.retry_interval = file.time("retry_interval", 60s, 1s, 1h);
    table.connections = file.number("connections", 2, 1, 20);
    table.notes = file.finish(kind);
    if (!file.problems().empty()) return std::unexpected(file.problems());
    return table;
}

} // namespace tables
