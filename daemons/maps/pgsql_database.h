// A connection to a PostgreSQL server, by libpq without blocking calls: each step ends at the deadline. The query has
// parameters, and is prepared without a name; their types are those that the server finds, as it does for texts in
// quotes.
#pragma once
#include "daemons/maps/database.h"
#include <libpq-fe.h>

namespace maps {

class PgsqlDatabase final : public Database {
public:
    explicit PgsqlDatabase(const tables::DatabaseTable& table) : table_(table) {}
    ~PgsqlDatabase() override;
    std::expected<void, std::string> connect(const tables::DatabaseServer& server, Deadline deadline) override;
    Outcome look_up(const std::string& key, Deadline deadline) override;

private:
    struct FreeResult {
        void operator()(PGresult* result) const { PQclear(result); }
    };
    using Result = std::unique_ptr<PGresult, FreeResult>;

    std::string error() const;
    Outcome run(const std::vector<std::string>& parameters, const std::string& key, Deadline deadline);
    // Declares those parameters as text whose type the server cannot find, where it would take a text in quotes for
    // one. The error: the connection has failed.
    std::expected<void, Outcome> settle_types(std::size_t parameters, Deadline deadline);
    // "" or the SQLSTATE of the error.
    std::expected<std::string, std::string> try_to_prepare(Deadline deadline);
    bool flush(Deadline deadline);
    // The next result of what was sent; null: there is no further one. The error: the connection has failed.
    std::expected<Result, std::string> next_result(Deadline deadline);
    Outcome failed(const PGresult* result);

    const tables::DatabaseTable& table_;
    PGconn* connection_ = nullptr;
    bool overdue_ = false;   // the last wait has ended at its deadline
    std::vector<Oid> types_; // of the parameters: 0 for the one that the server finds; empty: for all of them
    bool typeless_ = false;  // the last query failed because the server found none for a parameter
};

} // namespace maps
