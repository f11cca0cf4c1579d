#include "daemons/fleet/keys/key_sharing.h"
#include <utility>

namespace fleet {

namespace records = proto::key_records;

static constexpr std::size_t most_nodes = 100;

KeySharing::KeySharing(common::DaemonContext& context, StoreCalls store)
    : context_(context), store_(std::move(store)),
      keeper_(KeyKeeper::Dependencies{
          .loop = context.loop, .log = context.log, .store = store_, .send = [this](const records::Message& message) {
              return std::visit(
                  [this](const auto& each) {
                      return queue_manager_ && queue_manager_->send(each) == ipc::SendResult::yes;
                  },
                  message);
          }}) {}

void KeySharing::reconfigure(const config::Fleet& fleet, const std::string& origin, common::Fd socket,
                             ipc::ExpectedTokens expected) {
    fleet_ = fleet;
    keeper_.set_origin(origin);
    if (!fleet_.shares_keys()) keeper_.use(false, fleet_.node);
    if (service_)
        service_->expect(std::move(expected));
    else if (socket)
        service_ = std::make_unique<KeyService>(
            KeyService::Dependencies{
                .context = context_, .store = store_, .not_confirmed = [this] { keeper_.not_confirmed(); }},
            std::move(socket), std::move(expected));
    if (service_) service_->set_origin(origin);
    expect_nodes();
    if (!queue_manager_) connect_queue_manager();
}

void KeySharing::heard(const std::vector<Node>& nodes) {
    for (const auto& each : nodes) {
        if (!each.runs)
            nodes_.erase(each.name); // it has none to offer now
        else if (nodes_.size() < most_nodes)
            nodes_.insert(each.name);
    }
    expect_nodes();
}

void KeySharing::expect_nodes() {
    auto names = nodes_;
    names.insert(fleet_.node);
    if (service_) service_->expect_nodes(fleet_.expected_nodes, {names.begin(), names.end()});
}

void KeySharing::connect_queue_manager() {
    queue_manager_ = std::make_unique<Connector>(
        context_.loop, context_.log, context_.run_directory + "/private/queue-manager", records::conversation,
        context_.identity,
        Connector::Callbacks{.on_message = [this](records::Message&& message) { keeper_.received(message); },
                             .on_up = [this] { keeper_.connected(); },
                             .on_down = [this](const std::string&) { keeper_.disconnected(); }});
}

void KeySharing::use(const std::string& why_not) {
    const bool shares = fleet_.shares_keys();
    if (service_) service_->use(shares ? why_not : "this node does not share its keys", fleet_.node);
    keeper_.use(shares && why_not.empty(), fleet_.node);
}

std::string_view KeySharing::effect() const {
    if (!fleet_.shares_keys()) return "";
    return fleet_.keys == config::FleetKeys::strict ? "mail with an Idempotency-Key is rejected temporarily"
                                                    : "idempotency keys are not compared with those of other nodes";
}

} // namespace fleet
