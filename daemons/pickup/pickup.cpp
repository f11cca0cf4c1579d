#include "daemons/pickup/pickup.h"
#include "daemons/common/config/config.h"
#include "daemons/common/rewriting/rewriting_settings.h"
#include "daemons/common/submission/drop_limits.h"

namespace pickup {

using namespace std::chrono_literals;

spool::Result<std::unique_ptr<Pickup>> Pickup::create(common::DaemonContext& context,
                                                      common::DaemonConfig daemon_config) {
    auto problems = std::make_unique<common::Problems>(context.report_problem);
    auto spool_writer = TRY(common::SpoolWriter::open(
        context.loop, context.log, daemon_config.config.spool, static_cast<std::uint8_t>(context.instance()),
        problems->reporter("spool"), context.metrics, common::MailSource::local));
    std::unique_ptr<Pickup> pickup(
        new Pickup(context, daemon_config.config, std::move(problems), std::move(spool_writer)));
    pickup->spool_writer_->on_status_change([submission_queue = &pickup->submission_queue_](const std::string& why) {
        submission_queue->report_status(why);
    });
    pickup->submission_queue_.on_acceptance(
        [writer = pickup->spool_writer_.get()](const proto::submission::Acceptance& acceptance) {
            writer->refuse(acceptance.obstacle);
        });
    pickup->reconfigure(std::move(daemon_config));
    pickup->drop_.scan();
    return pickup;
}

Pickup::Pickup(common::DaemonContext& context, const config::Config& config, std::unique_ptr<common::Problems> problems,
               std::unique_ptr<common::SpoolWriter> spool_writer)
    : daemon_context_(context), problems_(std::move(problems)), spool_writer_(std::move(spool_writer)),
      keys_(context.log, spool_writer_->pool(), config.idempotency, config.spool.directory,
            static_cast<std::uint8_t>(context.instance())),
      submission_queue_(context.loop, context.log, context.run_directory, context.identity,
                        spool_writer_->reusable_files()),
      recipients_(context.loop, context.log, context.run_directory, context.identity),
      context_{context.loop, context.log, std::make_shared<const Settings>(config), *spool_writer_, submission_queue_,
               keys_,        recipients_},
      drop_(context_), directory_(context_, problems_->reporter("pickup directory")),
      stop_check_(context.loop, [this] { check_stopped(); }) {}

void Pickup::reconfigure(common::DaemonConfig daemon_config) {
    const auto& config = daemon_config.config;
    context_.config = std::make_shared<const Settings>(config);
    context_.operators = daemon_config.operators;
    context_.filters = ContentFilters::configured(
        config.content,
        common::CanonicalTables::configured(
            context_.loop, context_.log, config.addresses.canonical, config.tables,
            tables::maps_socket(config.spool.directory),
            common::rewriting_settings(config.domain_classes(), config.mta.origin, config.local.recipient_delimiter,
                                       decide::RewritingSettings::Extension::added_to_result)),
        config.addresses.masquerade, config.milters, problems_->new_reporter("advisers"));
    spool_writer_->reconfigure(config.spool);
    keys_.reconfigure(config.idempotency);
    keys_.share(config.fleet,
                {daemon_context_.loop, daemon_context_.log, daemon_context_.run_directory, daemon_context_.identity},
                daemon_context_.metrics);
    recipients_.clear_cache();
    const auto& spool = config.spool;
    common::DropLimits limits;
    limits.message_size = config.submit.message_size;
    limits.floor = {spool.minimum_free, spool.minimum_free_inodes};
    limits.user_bytes = std::max(config.submit.drop_user_bytes, 2 * limits.message_size);
    limits.user_messages = config.submit.drop_user_messages;
    const auto left = common::publish_drop_limits(context_.config->drop_directory, limits);
    if (!left) context_.log.warning("{}: programs that submit mail there use the earlier limits", left.error().what);
    if (auto fd = daemon_config.take("submit"); fd && !listener_)
        listener_ = std::make_unique<SubmitListener>(context_, std::move(fd));
    if (relayed_)
        relayed_->expect(std::move(daemon_config.expected));
    else if (auto fd = daemon_config.take("pickup"))
        relayed_ = std::make_unique<RelayedSubmissions>(context_, std::move(fd), std::move(daemon_config.expected));
    directory_.reconfigure();
}

void Pickup::update_gauges(common::Metrics& metrics) {
    metrics.set(common::MetricId::content_memory, static_cast<std::int64_t>(spool_writer_->memory().held()));
}

void Pickup::stop(smtp::Duration, std::function<void()> done) {
    stopped_ = std::move(done);
    if (listener_) listener_->close();
    drop_.close();
    directory_.close();
    check_stopped();
}

void Pickup::check_stopped() {
    const bool busy = (listener_ && listener_->clients() > 0) || (relayed_ && relayed_->open() > 0) || drop_.busy() ||
                      directory_.busy() || !context_.being_checked.empty() || spool_writer_->outstanding() > 0 ||
                      submission_queue_.waiting() > 0;
    if (busy) return stop_check_.start(20ms);
    if (auto done = std::exchange(stopped_, nullptr)) done();
}

} // namespace pickup
