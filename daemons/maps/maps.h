// The maps process: queries tables in databases (MySQL and MariaDB, PostgreSQL, LDAP) for the other daemons. Master
// reads the tables' files, which have passwords, and passes them on; a file that is changed so that it cannot be used
// leaves its table as it was. Decides nothing about mail.
#pragma once
#include "daemons/common/logging/problems.h"
#include "daemons/common/process/daemon.h"
#include "daemons/maps/request_server.h"
#include "daemons/maps/table_pool.h"
#include <map>
#include <memory>
#include <string>

namespace maps {

class Maps final : public common::Daemon {
public:
    static spool::Result<std::unique_ptr<Maps>> create(common::DaemonContext& context,
                                                       common::DaemonConfig daemon_config);
    explicit Maps(common::DaemonContext& context);

    void reconfigure(common::DaemonConfig daemon_config) override;
    void stop(smtp::Duration within, std::function<void()> done) override;
    std::string status_text() override;

private:
    struct Table {
        std::string text;                // of its file
        std::string problem;             // why it cannot be queried; "" it can
        std::string outage;              // as it was reported
        std::unique_ptr<TablePool> pool; // null: the file has never been in order
    };
    void take(const proto::secrets::TableFile& file);
    void report_outage(const std::string& name);
    std::function<void()> ask(const std::string& table, const std::string& key, RequestServer::Reply reply);

    common::DaemonContext& context_;
    common::Problems problems_;
    std::map<std::string, Table> tables_;
    std::unique_ptr<RequestServer> server_;
};

} // namespace maps
