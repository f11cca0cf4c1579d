// A connection to a PostgreSQL server, by libpq without blocking calls: each step ends at the deadline. The query has
// parameters, and is prepared without a name.
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
    bool flush(Deadline deadline);
    // The next result of what was sent; null: there is no further one. The error: the connection has failed.
    std::expected<Result, std::string> next_result(Deadline deadline);
    Outcome failed(const PGresult* result);

    const tables::DatabaseTable& table_;
    PGconn* connection_ = nullptr;
    bool overdue_ = false; // the last wait has ended at its deadline
};

} // namespace maps
