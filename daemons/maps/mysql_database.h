// A connection to a MySQL or MariaDB server, by libmariadb; the query is a prepared statement.
#pragma once
#include "daemons/common/lookup/database/result_values.h"
#include "daemons/maps/database.h"
#include <mysql.h>
#include <optional>

namespace maps {

class MysqlDatabase final : public Database {
public:
    static void prepare();

    explicit MysqlDatabase(const tables::DatabaseTable& table) : table_(table) {}
    ~MysqlDatabase() override;
    std::expected<void, std::string> connect(const tables::DatabaseServer& server, Deadline deadline) override;
    Outcome look_up(const std::string& key, Deadline deadline) override;

private:
    std::string error() const;
    Outcome statement_failed(Deadline deadline);
    // Of the result set that is open; nothing: all its rows were read.
    std::optional<Outcome> read_rows(tables::ResultValues& values, Deadline deadline);
    void close();

    const tables::DatabaseTable& table_;
    MYSQL* connection_ = nullptr;
    MYSQL_STMT* statement_ = nullptr;
};

} // namespace maps
