#include "daemons/local/local.h"
#include "daemons/common/config/config.h"
#include "daemons/common/delivery/delivery_line.h"
#include <fmt/format.h>
#include <utility>

namespace local {

using namespace proto::delivery;
using spool::Result;

namespace {
constexpr std::size_t max_failing = 1000; // maximum number of mailboxes remembered
}

struct Local::Job {
    uv_work_t request{};
    Local* owner = nullptr;
    Deliver order;
    std::uint64_t session = 0;
    std::shared_ptr<const Settings> settings;
    DeliveryResult finished;
};

Result<std::unique_ptr<Local>> Local::create(common::DaemonContext& context, common::DaemonConfig daemon_config) {
    auto disk = TRY(spool::RealDisk::open_at(daemon_config.config.spool.directory));
    std::unique_ptr<Local> out(new Local(context, daemon_config.config, std::move(disk)));
    out->user_files_.configure(daemon_config.config.local, daemon_config.config.mta, daemon_config);
    return out;
}

Local::Local(common::DaemonContext& context, const config::Config& config, std::unique_ptr<spool::RealDisk> disk)
    : context_(context), threads_(config.queue.connections_local), disk_(std::move(disk)), messages_(*disk_),
      settings_(std::make_shared<Settings>(
          settings_of(config.local, config.commands, config.mta, config.bounce, common::Loop::now().wall))),
      next_number_(std::uint64_t{1} << 63), user_files_(context, unreaped_),
      queue_manager_(context.loop, context.log, context.run_directory + "/private/queue-manager", conversation,
                     context.identity,
                     {[this](Message&& message) { on_message(message); }, [this] { on_connected(); },
                      [this](const std::string&) { on_disconnected(); }, [this] { to_queue_manager_.drained(); }}),
      to_queue_manager_(queue_manager_, [this] {
          context_.log.error("a message to the queue-manager is too long for a frame and was dropped");
      }) {
    common::size_thread_pool(threads_);
    checks_.configure(config.local, config.addresses, config.tables, config.commands);
}

// Jobs refer to this object: none may still be running.
Local::~Local() {
    while (running_ > 0) uv_run(&context_.loop.uv(), UV_RUN_ONCE);
}

void Local::reconfigure(common::DaemonConfig daemon_config) {
    const auto& config = daemon_config.config;
    settings_ = std::make_shared<Settings>(
        settings_of(config.local, config.commands, config.mta, config.bounce, settings_->born));
    checks_.configure(config.local, config.addresses, config.tables, config.commands);
    if (const auto wanted = config.queue.connections_local; wanted > threads_)
        context_.log.info("queue.connections_local = {}: more than {} deliveries at a time only after the "
                          "next start",
                          wanted, threads_);
    user_files_.configure(config.local, config.mta, daemon_config);
}

void Local::stop(smtp::Duration, std::function<void()> done) {
    if (running_ == 0) return done();
    stopped_ = std::move(done);
}

// A new connection, perhaps to a new queue-manager: it knows a delivery by queue id and recipients, and gets
// numbers that cannot be its own.
void Local::on_connected() {
    ++session_;
    std::map<std::uint64_t, Done> again;
    for (auto& [number, done] : std::exchange(unacknowledged_, {})) {
        done.connection = 0;
        done.delivery = next_number_++;
        again.emplace(done.delivery, std::move(done));
    }
    unacknowledged_ = std::move(again);
    for (const auto& [number, done] : unacknowledged_) send_result(number);
}

// A result for thousands of recipients with long replies goes in parts.
void Local::send_result(std::uint64_t number) {
    using Step = ipc::OrderedSender<Message>::Step;
    static_cast<void>(to_queue_manager_.send_parts([this, number, parts = std::optional<DoneParts>()]() mutable {
        const auto kept = unacknowledged_.find(number);
        if (kept == unacknowledged_.end()) return Step::done; // acknowledged: it was reported before
        if (!parts) parts.emplace(kept->second);
        static_cast<void>(to_queue_manager_.put(parts->next()));
        return parts->more() ? Step::more : Step::done;
    }));
}

void Local::on_disconnected() {
    to_queue_manager_.lost();
    ++session_;
    connections_.clear();
}

void Local::on_message(const Message& message) {
    if (const auto* connect = std::get_if<Connect>(&message)) {
        connections_[connect->connection];
        to_queue_manager_.send(Connected{connect->connection});
    } else if (const auto* order = std::get_if<Deliver>(&message)) {
        start(*order);
    } else if (const auto* close = std::get_if<Close>(&message)) {
        if (const auto connection = connections_.find(close->connection); connection != connections_.end())
            connection->second.closing = true;
        close_if_idle(close->connection);
    } else if (const auto* acknowledged = std::get_if<Acknowledged>(&message)) {
        unacknowledged_.erase(acknowledged->delivery);
    } else {
        queue_manager_.fail("unexpected message from the queue-manager");
    }
}

void Local::close_if_idle(std::uint64_t connection) {
    const auto found = connections_.find(connection);
    if (found == connections_.end() || !found->second.closing || found->second.in_flight > 0) return;
    connections_.erase(found);
    Closed closed;
    closed.connection = connection;
    closed.was_up = true;
    to_queue_manager_.send(closed);
}

void Local::start(const Deliver& order) {
    const auto connection = connections_.find(order.connection);
    if (connection == connections_.end()) return queue_manager_.fail("a delivery for a connection that does not exist");
    if (stopped_) return; // never begun: it is back in the queue when this connection ends
    ++connection->second.in_flight;
    ++running_;
    auto* job = new Job;
    job->request.data = job;
    job->owner = this;
    job->order = order;
    job->session = session_;
    job->settings = settings_;
    const auto work = [](uv_work_t* request) {
        auto* job = static_cast<Job*>(request->data);
        job->finished =
            deliver(job->owner->messages_, job->order, *job->settings, job->owner->checks_, job->owner->unreaped_);
    };
    const auto after = [](uv_work_t* request, int) {
        const std::unique_ptr<Job> job(static_cast<Job*>(request->data));
        job->owner->ended(job->order, job->session, std::move(job->finished));
    };
    uv_queue_work(&context_.loop.uv(), &job->request, work, after);
}

void Local::ended(const Deliver& order, std::uint64_t session, DeliveryResult&& finished) {
    --running_;
    log(order, finished);
    report_failing_mailboxes(finished);
    Done& done = finished.done;
    const bool same = session == session_;
    if (!same) {
        done.connection = 0;
        done.delivery = next_number_++;
    }
    const auto number = done.delivery;
    unacknowledged_.insert_or_assign(number, std::move(done));
    send_result(number);
    if (same) {
        if (const auto connection = connections_.find(order.connection); connection != connections_.end())
            --connection->second.in_flight;
        close_if_idle(order.connection);
    }
    if (running_ == 0) messages_.forget_last();
    if (stopped_ && running_ == 0) std::exchange(stopped_, nullptr)();
}

// For `postrider status`: the mailboxes whose mail waits. One that has not been tried again may work by now; the
// first successful delivery removes it.
void Local::report_failing_mailboxes(const DeliveryResult& finished) {
    bool news = false;
    for (const RecipientResult& line : finished.lines) {
        if (line.mailbox && (failing_mailboxes_.contains(line.mailbox_of) || failing_mailboxes_.size() < max_failing))
            news = failing_mailboxes_.insert_or_assign(line.mailbox_of, line.verdict.text).second || news;
        else if (!line.mailbox && line.verdict.outcome == Outcome::delivered)
            news = failing_mailboxes_.erase(line.mailbox_of) > 0 || news;
    }
    if (!news) return;
    if (failing_mailboxes_.empty()) return context_.report_problem("");
    const auto& [user, why] = *failing_mailboxes_.begin();
    const auto more = failing_mailboxes_.size() > 1 ? fmt::format(" (and {} more)", failing_mailboxes_.size() - 1) : "";
    context_.report_problem(fmt::format("mail for {}{} waits: {}", user, more, why));
}

static common::DeliveryStatus status_of(proto::delivery::Outcome outcome) {
    using proto::delivery::Outcome;
    switch (outcome) {
    case Outcome::delivered: return common::DeliveryStatus::sent;
    case Outcome::deferred: return common::DeliveryStatus::deferred;
    case Outcome::failed: break;
    }
    return common::DeliveryStatus::bounced;
}

void Local::log(const Deliver& order, const DeliveryResult& finished) {
    common::Log& log = context_.log;
    if (!finished.trouble.empty())
        log.warning("{}: cannot be read for delivery: {}", order.queue_id.text(), finished.trouble);
    const smtp::WallTime arrived{smtp::Duration(order.arrived)}, queued{smtp::Duration(order.queued)};
    for (const RecipientResult& line : finished.lines) {
        common::DeliveryLine out;
        out.queue_id = order.queue_id;
        out.to = line.to;
        out.original_to = line.original_to;
        out.relay = "local";
        out.delays = common::Delays::of(arrived, queued, {}, smtp::Duration(finished.done.transmission), line.finished);
        out.status = line.verdict.status;
        out.outcome = status_of(line.verdict.outcome);
        out.reason = line.verdict.text;
        common::write(log.context("local"), out);
        common::count(context_.metrics, common::Transport::local, out);
        context_.metrics.count_link("local", common::outcome_of(out));
    }
}

} // namespace local
