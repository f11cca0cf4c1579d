#include "daemons/transfer/transfer.h"
#include "daemons/common/config/config.h"
#include "daemons/common/runtime/crash_point.h"
#include "daemons/transfer/node_answer.h"
#include "libspool/message/export_format.h"
#include "libspool/message/message_reader.h"
#include <algorithm>
#include <cerrno>
#include <fmt/format.h>
#include <utility>

namespace transfer {

using proto::transfer::Result;
using proto::transfer::Send;
using proto::transfer::Sent;

spool::Result<std::unique_ptr<Transfer>> Transfer::create(common::DaemonContext& context,
                                                          common::DaemonConfig daemon_config) {
    auto disk = TRY(spool::RealDisk::open_at(daemon_config.config.spool.directory));
    auto self = std::make_unique<Transfer>(context, std::move(disk));
    self->reconfigure(std::move(daemon_config));
    return self;
}

Transfer::Transfer(common::DaemonContext& context, std::unique_ptr<spool::RealDisk> disk)
    : context_(context), disk_(std::move(disk)) {}

Transfer::~Transfer() = default;

// What is under way to a node whose settings have changed ends as it began.
void Transfer::reconfigure(common::DaemonConfig daemon_config) {
    const auto& secrets = daemon_config.secrets_as<proto::secrets::Nodes>();
    node_ = daemon_config.config.mta.node;
    auto former = std::exchange(clients_, {});
    for (const auto& node : daemon_config.config.nodes) {
        NodeClient::Settings settings{.node = node, .access = {}};
        const auto access = std::ranges::find(secrets.nodes, node.name, &proto::secrets::NodeAccess::node);
        if (access != secrets.nodes.end()) settings.access = *access;
        auto& client = clients_[node.name];
        if (const auto old = former.find(node.name); old != former.end() && old->second->settings() == settings)
            client = old->second;
        else
            client = std::make_shared<NodeClient>(context_.loop, std::move(settings));
    }
    if (queue_manager_) return;
    queue_manager_ = std::make_unique<ipc::Connector<proto::transfer::Message>>(
        context_.loop, context_.log, context_.run_directory + "/private/queue-manager", proto::transfer::conversation,
        context_.identity,
        ipc::Connector<proto::transfer::Message>::Callbacks{
            .on_message =
                [this](proto::transfer::Message&& message) {
                    auto* order = std::get_if<Send>(&message);
                    if (!order) return queue_manager_->fail("a report instead of an order");
                    auto& traffic = traffic_[order->node];
                    traffic.waiting.push_back(std::move(*order));
                    start_some(traffic);
                },
            // It asks again for everything that has no answer.
            .on_down = [this](const std::string&) { forget_waiting(); }});
}

void Transfer::start_some(Traffic& traffic) {
    const auto most = most_bytes / std::max<std::size_t>(clients_.size(), 1);
    while (!traffic.waiting.empty() && !stopped_ && traffic.under_way < most_at_once &&
           (traffic.under_way == 0 || traffic.bytes < most)) {
        const auto order = std::move(traffic.waiting.front());
        traffic.waiting.pop_front();
        start(order);
    }
}

void Transfer::forget_waiting() {
    for (auto& [node, traffic] : traffic_) traffic.waiting.clear();
}

void Transfer::start(const Send& order) {
    const auto not_sent = [&](std::string why) {
        report({.queue_id = order.queue_id,
                .generation = order.generation,
                .result = Result::not_taken,
                .its_id = 0,
                .text = std::move(why)});
    };
    const auto client = clients_.find(order.node);
    if (client == clients_.end())
        return not_sent(fmt::format("there is no node \"{}\" in the configuration", order.node));
    auto body = body_of(order);
    if (!body) return not_sent(spool::text_of(body.error()).substr(0, proto::transfer::longest_text));
    CRASH_POINT("transfer.before_sending");
    const auto number = ++last_;
    auto& here = under_way_[number];
    here.client = client->second;
    here.bytes = body->size();
    here.node = order.node;
    auto& traffic = traffic_[order.node];
    ++traffic.under_way;
    traffic.bytes += here.bytes;
    here.exchange = client->second->send(
        *std::move(body), [this, number, id = order.queue_id, generation = order.generation](const auto& answer) {
            CRASH_POINT("transfer.answered");
            const auto sent = meaning_of(answer, id, generation);
            // The running callback is the exchange's own.
            context_.loop.defer([this, number] {
                const auto gone = under_way_.extract(number);
                auto& traffic = traffic_[gone.mapped().node];
                --traffic.under_way;
                traffic.bytes -= gone.mapped().bytes;
                start_some(traffic);
                check_stopped();
            });
            report(sent);
        });
}

// Locked while it is read: it stays what it is until it has been copied.
spool::ReadResult<std::string> Transfer::body_of(const Send& order) {
    auto reader = spool::MessageReader::open(*disk_, order.queue_id, spool::Location::messages);
    if (!reader) return spool::ReadResult<std::string>(std::unexpect, std::move(reader).error());
    const auto envelope =
        spool::encode(spool::transfer_envelope(reader->state(), node_, order.queue_id, order.generation));
    std::string body;
    body.reserve(4 + envelope.size() + reader->size());
    for (unsigned shift = 0; shift < 32; shift += 8) body.push_back(static_cast<char>(envelope.size() >> shift & 0xff));
    body += envelope;
    for (std::uint64_t at = 0; at < reader->size();) {
        const auto piece = reader->piece(at);
        if (!piece) return spool::ReadResult<std::string>(std::unexpect, piece.error());
        body += *piece;
        at += piece->size();
    }
    return body;
}

void Transfer::report(const Sent& sent) { static_cast<void>(queue_manager_->send(sent)); }

void Transfer::stop(smtp::Duration, std::function<void()> done) {
    stopped_ = std::move(done);
    forget_waiting();
    check_stopped();
}

void Transfer::check_stopped() {
    if (!under_way_.empty() || !stopped_) return;
    if (auto done = std::exchange(stopped_, nullptr)) done();
}

std::string Transfer::status_text() {
    auto count = under_way_.size();
    for (const auto& [node, traffic] : traffic_) count += traffic.waiting.size();
    return count == 0 ? "" : fmt::format("{} message{} on the way to other nodes", count, count == 1 ? "" : "s");
}

} // namespace transfer
