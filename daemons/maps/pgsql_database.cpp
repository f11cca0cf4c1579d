#include "daemons/maps/pgsql_database.h"
#include "daemons/common/lookup/database/result_values.h"
#include <fmt/format.h>
#include <poll.h>
#include <string_view>

namespace maps {

namespace {

constexpr std::string_view timed_out = "no answer in time";

// False: the deadline has passed.
bool wait_for_socket(int socket, short events, Deadline deadline) {
    if (Clock::now() >= deadline) return false;
    pollfd waiting{socket, events, 0};
    return ::poll(&waiting, 1, static_cast<int>(remaining(deadline).count())) > 0;
}

constexpr std::string_view no_type = "42P18"; // indeterminate_datatype
constexpr Oid text_type = 25;

// Errors of one moment or one value; any other one is the query's.
bool is_passing(std::string_view state) {
    return state.starts_with("22") /* this value */ || state.starts_with("40") /* deadlock */ || state == "57014" ||
           state == "55P03" /* lock not available */;
}

} // namespace

PgsqlDatabase::~PgsqlDatabase() {
    if (connection_) PQfinish(connection_);
}

std::string PgsqlDatabase::error() const {
    std::string text = PQerrorMessage(connection_);
    while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
    for (auto& c : text)
        if (c == '\n') c = ' ';
    return smtp::printable(text, 300);
}

std::expected<void, std::string> PgsqlDatabase::connect(const tables::DatabaseServer& server, Deadline deadline) {
    const auto host = server.socket.empty() ? server.name : server.socket;
    const auto port = server.port != 0 ? fmt::format("{}", server.port) : std::string();
    std::string password(table_.password.reveal());
    const auto& tls = table_.tls;
    std::vector<const char*> names, values;
    const auto add = [&](const char* name, const char* value) {
        names.push_back(name);
        values.push_back(value);
    };
    const auto add_if = [&](const char* name, const std::string& value) {
        if (!value.empty()) add(name, value.c_str());
    };
    add("host", host.c_str());
    add_if("port", port);
    add_if("user", table_.user);
    add_if("password", password);
    add("dbname", table_.database.c_str());
    add("passfile", "/nonexistent"); // what is not in the table's file is not read from others
    add("client_encoding", table_.charset.c_str());
    add("application_name", "postrider-maps");
    add("gssencmode", "disable");
    add("sslmode", tls.verify ? "verify-full" : tls.required ? "require" : "prefer");
    add("sslrootcert", tls.ca_file.empty() ? "/nonexistent" : tls.ca_file.c_str());
    add("sslcert", tls.certificate.empty() ? "/nonexistent" : tls.certificate.c_str());
    add_if("sslkey", tls.key);
    names.push_back(nullptr);
    values.push_back(nullptr);
    connection_ = PQconnectStartParams(names.data(), values.data(), 0);
    explicit_bzero(password.data(), password.size());
    if (!connection_) return std::unexpected(std::string("out of memory"));
    if (PQstatus(connection_) == CONNECTION_BAD) return std::unexpected(error());
    for (auto next = PGRES_POLLING_WRITING; next != PGRES_POLLING_OK; next = PQconnectPoll(connection_)) {
        if (next == PGRES_POLLING_FAILED) return std::unexpected(error());
        if (!wait_for_socket(PQsocket(connection_), next == PGRES_POLLING_READING ? POLLIN : POLLOUT, deadline))
            return std::unexpected(std::string("no connection in time"));
    }
    PQsetnonblocking(connection_, 1);
    PQsetNoticeProcessor(connection_, [](void*, const char*) {}, nullptr);
    return {};
}

bool PgsqlDatabase::flush(Deadline deadline) {
    for (;;) {
        const int left = PQflush(connection_);
        if (left <= 0) return left == 0;
        if (!wait_for_socket(PQsocket(connection_), POLLIN | POLLOUT, deadline) || PQconsumeInput(connection_) == 0)
            return false;
    }
}

std::expected<PgsqlDatabase::Result, std::string> PgsqlDatabase::next_result(Deadline deadline) {
    while (PQisBusy(connection_)) {
        overdue_ = !wait_for_socket(PQsocket(connection_), POLLIN, deadline);
        if (overdue_) return std::unexpected(std::string(timed_out));
        if (PQconsumeInput(connection_) == 0) return std::unexpected(error());
    }
    return Result(PQgetResult(connection_));
}

Outcome PgsqlDatabase::failed(const PGresult* result) {
    const char* state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char* text = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    const std::string_view code = state ? state : "";
    const bool lost =
        PQstatus(connection_) != CONNECTION_OK || code.empty() || code.starts_with("08") || code.starts_with("57P");
    auto why = text ? smtp::printable(text, 300) : error();
    typeless_ = code == no_type;
    if (typeless_) why += " (add it to the query: '%s'::text)";
    if (is_passing(code)) return unavailable(why, false, lost);
    return unavailable(lost ? why : fmt::format("the query failed: {}", why), true, lost);
}

std::expected<std::string, std::string> PgsqlDatabase::try_to_prepare(Deadline deadline) {
    if (PQsendPrepare(connection_, "", table_.query.statement().c_str(), static_cast<int>(types_.size()),
                      types_.data()) == 0 ||
        !flush(deadline))
        return std::unexpected(error());
    std::string state;
    for (;;) {
        const auto result = next_result(deadline);
        if (!result) return std::unexpected(result.error());
        if (!*result) return state;
        if (const char* code = PQresultErrorField(result->get(), PG_DIAG_SQLSTATE)) state = code;
    }
}

std::expected<void, Outcome> PgsqlDatabase::settle_types(std::size_t parameters, Deadline deadline) {
    types_.assign(parameters, 0);
    for (auto& type : types_) { // one after the other: the error names those without a type in words only
        type = text_type;
        const auto state = try_to_prepare(deadline);
        if (!state) return std::unexpected(unavailable(state.error(), !overdue_, true));
        if (state->empty()) break;
        if (*state != no_type) type = 0; // it has another one
    }
    for (auto& type : types_) { // text may also fit where the server finds another type: citext, char(n)
        if (type == 0) continue;
        type = 0;
        const auto state = try_to_prepare(deadline);
        if (!state) return std::unexpected(unavailable(state.error(), !overdue_, true));
        if (!state->empty()) type = text_type;
    }
    return {};
}

Outcome PgsqlDatabase::look_up(const std::string& key, Deadline deadline) {
    const auto parameters = table_.query.parameters(key);
    if (!parameters) return {};
    auto out = run(*parameters, key, deadline);
    if (!typeless_ || out.lost || !types_.empty()) return out;
    if (auto settled = settle_types(parameters->size(), deadline); !settled) return std::move(settled).error();
    return run(*parameters, key, deadline);
}

Outcome PgsqlDatabase::run(const std::vector<std::string>& parameters, const std::string& key, Deadline deadline) {
    typeless_ = false;
    std::vector<const char*> values;
    for (const auto& each : parameters) values.push_back(each.c_str());
    // Prepared without a name, for this lookup alone: a proxy such as PgBouncer may give each one another connection.
    if (PQsendQueryParams(connection_, table_.query.statement().c_str(), static_cast<int>(values.size()),
                          types_.empty() ? nullptr : types_.data(), values.data(), nullptr, nullptr, 0) == 0)
        return unavailable(error(), true, true);
    PQsetSingleRowMode(connection_); // a large result is not held as a whole
    if (!flush(deadline)) return unavailable(error().empty() ? std::string(timed_out) : error(), true, true);
    tables::ResultValues found(table_.result_format, key, table_.expansion_limit);
    std::optional<Outcome> out;
    bool any = false; // result set
    for (;;) {
        const auto result = next_result(deadline);
        if (!result) return unavailable(result.error(), !overdue_, true);
        if (!*result) break;
        const auto status = PQresultStatus(result->get());
        if (status != PGRES_SINGLE_TUPLE && status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) {
            if (!out) out = failed(result->get());
            continue;
        }
        any = any || status != PGRES_COMMAND_OK;
        if (Clock::now() >= deadline) return unavailable("the result is not complete in time", false, true);
        for (int row = 0; row < PQntuples(result->get()); ++row)
            for (int column = 0; column < PQnfields(result->get()); ++column) {
                if (PQgetisnull(result->get(), row, column)) continue;
                const std::string_view value(PQgetvalue(result->get(), row, column),
                                             static_cast<std::size_t>(PQgetlength(result->get(), row, column)));
                if (!found.add(value)) return {found.answer(), false, true}; // the rest is not read
            }
    }
    if (out) return *std::move(out);
    if (!any && table_.requires_result_set)
        return unavailable("the query returns no result set (require_result_set = no permits this)", true, false);
    return {found.answer()};
}

} // namespace maps
