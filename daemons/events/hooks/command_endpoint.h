// A command that events are written to as lines, which acknowledges them by their numbers. It is started when there is
// something to send, and again after it has failed. Knows no processes: it gets pipes from those who start commands.
#pragma once
#include "daemons/common/net/stream_writer.h"
#include "daemons/common/process/daemon.h"
#include "daemons/common/runtime/timer.h"
#include "daemons/common/runtime/uv_handle.h"
#include "daemons/events/hooks/endpoint.h"
#include <memory>
#include <string>
#include <string_view>

namespace events {

class CommandEndpoint final : public Endpoint {
public:
    // `context` outlives it. `timeout`: how long the command may acknowledge nothing.
    CommandEndpoint(common::DaemonContext& context, std::string hook, smtp::Duration timeout, Callbacks callbacks);
    ~CommandEndpoint() override;

    void send(const std::deque<decide::hooks::HookEvent>& events, std::size_t count) override;
    void cancel() override;
    bool test(const std::string&, TestDone) override { return false; }

private:
    void started(common::SinkPipes pipes);
    void write();
    void read(std::string_view bytes);
    void take_line(std::string_view line);
    void fail(std::string why);
    void close();

    static constexpr std::size_t longest_acknowledgement = 64; // a line

    common::DaemonContext& context_;
    std::string hook_;
    smtp::Duration timeout_;
    Callbacks callbacks_;
    common::Timer silence_;
    common::TurnHook failed_;
    std::unique_ptr<common::StreamWriter> writer_;
    common::Handle<uv_pipe_t> input_, output_;
    std::string lines_;            // to be written when it has started
    std::string received_;         // the beginning of a line
    std::uint64_t last_ = 0;       // number of the last event of the request
    bool waiting_ = false;         // for acknowledgements
    std::string why_;              // it has failed
    std::shared_ptr<int> request_; // under way; another one, or null, after cancel()
};

} // namespace events
