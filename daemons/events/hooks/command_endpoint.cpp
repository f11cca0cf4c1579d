#include "daemons/events/hooks/command_endpoint.h"
#include "libsmtp/text/text.h"
#include <charconv>
#include <fmt/format.h>
#include <utility>

namespace events {

CommandEndpoint::CommandEndpoint(common::DaemonContext& context, std::string hook, smtp::Duration timeout,
                                 Callbacks callbacks)
    : context_(context), hook_(std::move(hook)), timeout_(timeout), callbacks_(std::move(callbacks)),
      silence_(context.loop,
               [this] {
                   fail(fmt::format("the command acknowledged nothing for {} s",
                                    std::chrono::duration_cast<std::chrono::seconds>(timeout_).count()));
               }),
      failed_(context.loop, [this] {
          const decide::hooks::EndpointAnswer answer{0, std::exchange(why_, {})};
          if (std::exchange(waiting_, false)) callbacks_.answered(answer);
      }) {}

CommandEndpoint::~CommandEndpoint() { close(); }

void CommandEndpoint::send(const std::deque<decide::hooks::HookEvent>& events, std::size_t count) {
    lines_.clear();
    for (std::size_t i = 0; i < count; ++i) lines_.append(events[i].line).append("\n");
    last_ = events[count - 1].number;
    waiting_ = true;
    silence_.start(timeout_);
    if (input_) return write();
    request_ = std::make_shared<int>();
    context_.request_sink(hook_, [this, expected = std::weak_ptr(request_)](common::SinkPipes pipes) {
        if (!expected.expired()) started(std::move(pipes));
    });
}

void CommandEndpoint::cancel() {
    close();
    waiting_ = false;
    why_.clear();
    silence_.stop();
}

void CommandEndpoint::close() {
    request_.reset();
    writer_.reset();
    input_.reset();
    output_.reset();
    received_.clear();
}

// A failure is reported in a later turn: the hook may be in the middle of something.
void CommandEndpoint::fail(std::string why) {
    close();
    silence_.stop();
    why_ = std::move(why);
    failed_.schedule();
}

void CommandEndpoint::started(common::SinkPipes pipes) {
    request_.reset();
    if (!pipes.problem.empty()) return fail("the command was not started: " + pipes.problem);
    input_ = common::make_pipe(context_.loop.uv(), this);
    output_ = common::make_pipe(context_.loop.uv(), this);
    writer_ = std::make_unique<common::StreamWriter>([this](int status) {
        if (status != 0) return fail(fmt::format("the command reads no events: {}", uv_strerror(status)));
        write();
    });
    const int opened = uv_pipe_open(input_.get(), pipes.input.number());
    if (opened == 0) static_cast<void>(pipes.input.release());
    const int open = opened == 0 ? uv_pipe_open(output_.get(), pipes.output.number()) : opened;
    if (open == 0) static_cast<void>(pipes.output.release());
    if (open != 0) return fail(fmt::format("the command's pipes: {}", uv_strerror(open)));
    uv_read_start(
        common::stream_of(output_),
        [](uv_handle_t* handle, std::size_t, uv_buf_t* buffer) {
            auto* self = common::owner_of<CommandEndpoint>(handle);
            const auto room = self ? self->context_.loop.read_buffer() : std::span<char>();
            *buffer = uv_buf_init(room.data(), static_cast<unsigned>(room.size()));
        },
        [](uv_stream_t* stream, ssize_t size, const uv_buf_t* buffer) {
            auto* self = common::owner_of<CommandEndpoint>(stream);
            if (self == nullptr || size == 0) return;
            if (size < 0) return self->fail("the command has ended");
            self->read({buffer->base, static_cast<std::size_t>(size)});
        });
    write();
}

void CommandEndpoint::write() {
    if (!writer_ || writer_->writing()) return;
    writer_->pending() += std::exchange(lines_, {});
    if (writer_->pending().empty()) return;
    if (const int failed = writer_->start(common::stream_of(input_)); failed != 0)
        fail(fmt::format("the command reads no events: {}", uv_strerror(failed)));
}

void CommandEndpoint::read(std::string_view bytes) {
    received_ += bytes;
    std::size_t begin = 0;
    for (auto end = received_.find('\n'); end != received_.npos; end = received_.find('\n', begin)) {
        const auto line = received_.substr(begin, end - begin);
        begin = end + 1;
        take_line(line);
        if (!output_) return; // it has failed
    }
    received_.erase(0, begin);
    if (received_.size() > longest_acknowledgement) fail("the command printed a line that is not a number");
}

void CommandEndpoint::take_line(std::string_view line) {
    std::uint64_t number = 0;
    const auto* end = line.data() + line.size();
    const auto read = std::from_chars(line.data(), end, number);
    const auto refuse = [&] {
        fail(fmt::format("the command acknowledged \"{}\", which it has not got",
                         smtp::printable(line, longest_acknowledgement)));
    };
    if (read.ec != std::errc() || read.ptr != end || !waiting_) return refuse();
    if (number == last_) { // before the next request, which begins in the same moment
        waiting_ = false;
        silence_.stop();
    } else {
        silence_.start(timeout_);
    }
    if (callbacks_.acknowledged(number)) return;
    waiting_ = true;
    refuse();
}

} // namespace events
