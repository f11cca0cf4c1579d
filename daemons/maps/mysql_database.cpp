#include "daemons/maps/mysql_database.h"
#include <cstring>
#include <errmsg.h>
#include <fmt/format.h>
#include <mysqld_error.h>

namespace maps {

namespace {

constexpr unsigned first_client_error = 2000, last_client_error = 2999; // the library's own: the connection has failed
constexpr unsigned most_columns = 100;
// Methods that do not show the password to a server that only claims to be ours.
constexpr const char* safe_methods =
    "mysql_native_password,caching_sha2_password,sha256_password,client_ed25519,parsec";

const char* or_null(const std::string& text) { return text.empty() ? nullptr : text.c_str(); }

} // namespace

void MysqlDatabase::prepare() { mysql_library_init(0, nullptr, nullptr); }

MysqlDatabase::~MysqlDatabase() { close(); }

void MysqlDatabase::close() {
    if (statement_) mysql_stmt_close(std::exchange(statement_, nullptr));
    if (connection_) mysql_close(std::exchange(connection_, nullptr));
}

std::string MysqlDatabase::error() const { return smtp::printable(mysql_error(connection_), 300); }

std::expected<void, std::string> MysqlDatabase::connect(const tables::DatabaseServer& server, Deadline deadline) {
    close();
    connection_ = mysql_init(nullptr);
    if (!connection_) return std::unexpected(std::string("out of memory"));
    const auto time = remaining_seconds(deadline);
    const auto answer_time =
        static_cast<unsigned>(std::chrono::ceil<std::chrono::seconds>(table_.timeout).count()); // later lookups, too
    const unsigned no_local_files = 0; // a server must not ask for files of this host
    const my_bool reconnect = 0, verify = table_.tls.verify ? 1 : 0, enforce = 1;
    mysql_options(connection_, MYSQL_OPT_CONNECT_TIMEOUT, &time);
    mysql_options(connection_, MYSQL_OPT_READ_TIMEOUT, &answer_time);
    mysql_options(connection_, MYSQL_OPT_WRITE_TIMEOUT, &answer_time);
    mysql_options(connection_, MYSQL_OPT_LOCAL_INFILE, &no_local_files);
    mysql_options(connection_, MYSQL_OPT_RECONNECT, &reconnect);
    mysql_options(connection_, MYSQL_SET_CHARSET_NAME, table_.charset.c_str());
    if (table_.tls.required) {
        mysql_ssl_set(connection_, or_null(table_.tls.key), or_null(table_.tls.certificate),
                      or_null(table_.tls.ca_file), or_null(table_.tls.ca_directory), or_null(table_.tls.ciphers));
        mysql_options(connection_, MYSQL_OPT_SSL_ENFORCE, &enforce);
    }
    mysql_options(connection_, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &verify);
    if (server.socket.empty() && !table_.tls.verify)
        mysql_options(connection_, MARIADB_OPT_RESTRICTED_AUTH, safe_methods);
    // The library reads no option files, unless told to.
    const char* host = server.socket.empty() ? server.name.c_str() : "localhost";
    std::string password(table_.password.reveal());
    const auto* connected =
        mysql_real_connect(connection_, host, or_null(table_.user), or_null(password), or_null(table_.database),
                           server.port, or_null(server.socket), CLIENT_MULTI_RESULTS);
    explicit_bzero(password.data(), password.size());
    const bool encrypted = connected && mysql_get_ssl_cipher(connection_) != nullptr;
    if (connected && (encrypted || !table_.tls.required)) return {};
    auto why = connected ? std::string("the server does not offer TLS, which the file requires") : error();
    close();
    return std::unexpected(std::move(why));
}

Outcome MysqlDatabase::statement_failed(Deadline deadline) {
    const auto code = mysql_stmt_errno(statement_);
    constexpr std::chrono::milliseconds soon(100); // the library's limit is that of the lookup, and not exact
    auto why = smtp::printable(mysql_stmt_error(statement_), 300);
    const bool lost = (code >= first_client_error && code <= last_client_error) || code == ER_SERVER_SHUTDOWN ||
                      code == ER_UNKNOWN_STMT_HANDLER || code == 0;
    const bool passing = code == ER_LOCK_WAIT_TIMEOUT || code == ER_LOCK_DEADLOCK || code == ER_QUERY_INTERRUPTED;
    if (lost && remaining(deadline) < soon) return unavailable("no answer in time", false, true);
    if (!lost && !passing) why = fmt::format("the query failed: {}", why);
    return unavailable(std::move(why), !passing, lost);
}

Outcome MysqlDatabase::look_up(const std::string& key, Deadline deadline) {
    const auto parameters = table_.query.parameters(key);
    if (!parameters) return {};
    if (!statement_) {
        statement_ = mysql_stmt_init(connection_);
        if (!statement_) return unavailable("out of memory", true, true);
        const auto& text = table_.query.statement();
        if (mysql_stmt_prepare(statement_, text.data(), text.size()) != 0) {
            auto failed = statement_failed(deadline);
            mysql_stmt_close(std::exchange(statement_, nullptr));
            return failed;
        }
        if (mysql_stmt_param_count(statement_) != parameters->size())
            return unavailable("the query is not as it was understood: a comment with a quotation mark?", true, true);
    }
    std::vector<MYSQL_BIND> bound(parameters->size());
    for (std::size_t i = 0; i < bound.size(); ++i) {
        bound[i] = {};
        bound[i].buffer_type = MYSQL_TYPE_STRING;
        bound[i].buffer = const_cast<char*>((*parameters)[i].data());
        bound[i].buffer_length = (*parameters)[i].size();
    }
    if (!bound.empty() && mysql_stmt_bind_param(statement_, bound.data()) != 0) return statement_failed(deadline);
    if (mysql_stmt_execute(statement_) != 0) return statement_failed(deadline);
    tables::ResultValues values(table_.result_format, key, table_.expansion_limit);
    bool any = false;
    for (;;) {
        if (mysql_stmt_field_count(statement_) > 0) {
            any = true;
            if (auto ended = read_rows(values, deadline)) return *std::move(ended);
        }
        mysql_stmt_free_result(statement_);
        const int more = mysql_stmt_more_results(statement_) ? mysql_stmt_next_result(statement_) : -1;
        if (more > 0) return statement_failed(deadline);
        if (more < 0) break;
    }
    if (!any && table_.requires_result_set)
        return unavailable("the query returns no result set (require_result_set = no permits this)", true, false);
    return {values.answer()};
}

std::optional<Outcome> MysqlDatabase::read_rows(tables::ResultValues& values, Deadline deadline) {
    const auto columns = mysql_stmt_field_count(statement_);
    if (columns > most_columns) return unavailable("the query returns too many columns", true, true);
    std::vector<MYSQL_BIND> bound(columns);
    std::vector<unsigned long> lengths(columns);
    std::vector<my_bool> nulls(columns), truncated(columns);
    for (unsigned i = 0; i < columns; ++i) {
        bound[i] = {};
        bound[i].buffer_type = MYSQL_TYPE_STRING; // every value as text; its length first
        bound[i].length = &lengths[i];
        bound[i].is_null = &nulls[i];
        bound[i].error = &truncated[i];
    }
    if (mysql_stmt_bind_result(statement_, bound.data()) != 0) return statement_failed(deadline);
    std::string value;
    for (;;) {
        if (Clock::now() >= deadline) return unavailable("the result is not complete in time", false, true);
        const int status = mysql_stmt_fetch(statement_);
        if (status == MYSQL_NO_DATA) return std::nullopt;
        if (status != 0 && status != MYSQL_DATA_TRUNCATED) return statement_failed(deadline);
        for (unsigned i = 0; i < columns; ++i) {
            if (nulls[i]) continue;
            if (lengths[i] > tables::ResultValues::most_bytes) // the rest is not read: the connection ends
                return unavailable("a value of the result is too long", false, true);
            value.resize(lengths[i]);
            MYSQL_BIND one{};
            unsigned long length = 0;
            one.buffer_type = MYSQL_TYPE_STRING;
            one.buffer = value.data();
            one.buffer_length = value.size();
            one.length = &length;
            if (!value.empty() && mysql_stmt_fetch_column(statement_, &one, i, 0) != 0)
                return statement_failed(deadline);
            if (!values.add(value)) return Outcome{values.answer(), false, true};
        }
    }
}

} // namespace maps
