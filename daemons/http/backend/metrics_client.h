// Asks the metrics process for its text (proto/metrics_text.h). Those who ask meanwhile get the same answer. Knows no
// HTTP.
#pragma once
#include "daemons/common/ipc/connector.h"
#include "daemons/common/process/daemon.h"
#include "daemons/common/proto/metrics_text.h"
#include "daemons/common/runtime/timer.h"
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace http {

class MetricsClient {
public:
    static constexpr std::size_t most_waiting = 100, largest_text = 64 << 20;
    static constexpr smtp::Duration patience = std::chrono::seconds(5);
    using Done = std::function<void(std::optional<std::string> text)>; // nothing: there is no answer

    explicit MetricsClient(common::DaemonContext& context)
        : context_(context), patience_(context.loop, [this] { give_up(); }) {}
    MetricsClient(const MetricsClient&) = delete;
    MetricsClient& operator=(const MetricsClient&) = delete;

    // `done` is called once, later, unless this is destroyed before.
    void ask(Done done);
    std::size_t open() const { return waiting_.size(); }

private:
    void send();
    void take(proto::metrics_text::Message&& message);
    void give_up();
    void answer(const std::optional<std::string>& text);

    common::DaemonContext& context_;
    std::vector<Done> waiting_;
    std::string text_;
    bool asked_ = false;
    common::Timer patience_;
    std::unique_ptr<ipc::Connector<proto::metrics_text::Message>> connector_; // null before the first one asks
};

} // namespace http
