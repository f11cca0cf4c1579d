// The http process: the API over HTTP. Serves it on its socket and addresses, which master passes down; asks the
// queue-manager and pickup on behalf of its clients. Mail flows whether it runs, hangs or dies. Reads the tokens and
// the journal; no mail.
#pragma once
#include "daemons/common/config/sections/system/http.h"
#include "daemons/common/logging/problems.h"
#include "daemons/common/process/daemon.h"
#include "daemons/common/web/server.h"
#include "daemons/http/backend/journal_reader.h"
#include "daemons/http/backend/metrics_client.h"
#include "daemons/http/backend/queue_client.h"
#include "daemons/http/backend/submission_client.h"
#include "daemons/http/endpoints/services.h"
#include "daemons/http/gate.h"
#include "daemons/http/overview/settings.h"
#include "daemons/http/requests/router.h"
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace http {

class Http final : public common::Daemon, public web::Handler {
public:
    static spool::Result<std::unique_ptr<Http>> create(common::DaemonContext& context,
                                                       common::DaemonConfig daemon_config);
    Http(common::DaemonContext& context, const config::Config& config);

    void reconfigure(common::DaemonConfig daemon_config) override;
    void stop(smtp::Duration within, std::function<void()> done) override;

    std::expected<std::uint64_t, web::Rejection> begin(const web::Request& request) override;
    void handle(std::shared_ptr<web::Exchange> exchange) override;
    web::Response reject(unsigned status, std::string_view why) override;

private:
    void serve(std::vector<common::InheritedListener> handed, const config::Http& settings,
               const web::Certificate& certificate);
    void retire(std::unique_ptr<web::Server> server);
    void end_retired();
    std::uint64_t body_limit(const Route& route, const web::Request& request) const;
    void check_stopped();

    common::DaemonContext& context_;
    common::Problems problems_;
    web::BodyMemory memory_;
    Gate gate_;
    QueueClient queue_, hooks_;
    MetricsClient metrics_;
    SubmissionClient submissions_;
    JournalReader journal_;
    Later later_;
    EventFeed feed_;
    Services services_;
    SettingsInForce settings_;
    Router router_;
    std::map<std::string, std::unique_ptr<web::Server>> servers_; // by address
    web::Certificate certificate_;                                // of those on addresses
    std::vector<std::unique_ptr<web::Server>> retired_;           // with a former certificate, until they are idle
    common::Timer stop_check_, retirement_;
    std::function<void()> stopped_;
};

} // namespace http
