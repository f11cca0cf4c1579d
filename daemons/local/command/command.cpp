#include "daemons/local/command/command.h"
#include "daemons/common/runtime/crash_point.h"
#include "daemons/local/command/exit_status.h"
#include <algorithm>
#include <chrono>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

namespace local {

using common::Fd;
using spool::Error;
using spool::Result;

namespace {

constexpr std::size_t max_output = 1024; // kept; the rest is read and discarded

std::int64_t milliseconds_now() {
    using namespace std::chrono;
    return duration_cast<milliseconds>(steady_clock::now().time_since_epoch()).count();
}

Result<std::pair<Fd, Fd>> make_pipe() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return std::unexpected(Error::from_errno("create a pipe"));
    return std::pair{Fd(ends[0]), Fd(ends[1])};
}

} // namespace

Command::Command(command::Run run, std::string prefix, smtp::Duration timeout, smtp::Duration limit,
                 UnreapedProcesses& unreaped)
    : run_(std::move(run)), timeout_(static_cast<int>(timeout.count() / 1000)), limit_(limit),
      buffer_(std::move(prefix)), child_(run_.person.name, unreaped) {}

Command::~Command() {
    child_.end(); // before its input ends: half a message must not look like a whole one
}

// Nothing: it runs.
Result<std::optional<Verdict>> Command::start() {
    auto [control, theirs] = TRY(as_user::socket_pair());
    auto [in, input] = TRY(make_pipe());
    auto [heard, out] = TRY(make_pipe());
    for (const int fd : {input.number(), heard.number()}) fcntl(fd, F_SETFL, O_NONBLOCK);
    TRY(child_.start("command", {in.number(), out.number(), theirs.number()}));
    input_ = std::move(input);
    output_pipe_ = std::move(heard);
    theirs.reset(), in.reset(), out.reset();
    as_user::MessageSocket<command::Message> line(std::move(control));
    TRY(line.send(run_, timeout_));
    const auto said = line.receive(timeout_);
    if (said) {
        const auto* failed = std::get_if<command::Failed>(&*said);
        if (failed) return failed->verdict;
        return std::unexpected(Error{0, "invalid message from the delivering process"});
    }
    if (said.error().code != EPIPE) return std::unexpected(said.error());
    return std::nullopt;
}

std::optional<Verdict> Command::open() {
    deadline_ = milliseconds_now() + std::max<std::int64_t>(1, limit_.count() / 1000);
    const auto started = start();
    if (started) return *started;
    if (started.error().code != ETIMEDOUT) return verdict_of(Error{0, started.error().what});
    return verdict_of(Error{0, fmt::format("the process that runs a command as user {} did not answer for {} "
                                           "s and was killed",
                                           run_.person.name, timeout_ / 1000)});
}

// A command that does not read (all of) the message has not failed: its exit status counts.
void Command::feed() {
    const auto n = ::write(input_.number(), buffer_.data() + input_sent_, buffer_.size() - input_sent_);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n > 0) input_sent_ += static_cast<std::size_t>(n);
    if (n >= 0 && input_sent_ < buffer_.size()) return;
    buffer_.clear();
    input_sent_ = 0;
    if (n < 0) input_.reset();
}

// True: there was output.
bool Command::read_output() {
    char block[16 * 1024];
    const auto n = output_pipe_ ? read(output_pipe_.number(), block, sizeof block) : 0;
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    if (n <= 0) {
        output_pipe_.reset();
        return false;
    }
    output_.append(block, std::min(static_cast<std::size_t>(n), max_output - output_.size()));
    return true;
}

// Error: only of the system; a timeout is in late_.
Result<> Command::go_on(Until until) {
    while (child_.running()) {
        if (until == Until::written && buffer_.empty()) return {};
        if (!input_) buffer_.clear();
        const auto left = deadline_ - milliseconds_now();
        if (left <= 0) {
            late_ = true;
            child_.end();
            return {};
        }
        pollfd all[3] = {{child_.descriptor(), POLLIN, 0},
                         {output_pipe_ ? output_pipe_.number() : -1, POLLIN, 0},
                         {input_ && !buffer_.empty() ? input_.number() : -1, POLLOUT, 0}};
        if (poll(all, 3, static_cast<int>(std::min<std::int64_t>(left, 60'000))) < 0 && errno != EINTR)
            return std::unexpected(Error::from_errno("wait for a command"));
        if (all[2].revents != 0) feed();
        if (all[1].revents != 0) read_output();
        if (all[0].revents != 0) { // processes it left behind may hold its output open, and continue writing
            for (int i = 0; i < 16 && read_output(); ++i) continue;
            child_.wait(-1);
        }
    }
    buffer_.clear();
    return {};
}

std::optional<Verdict> Command::write(std::string_view content) {
    text_.append(content, buffer_);
    if (buffer_.size() < 64 * 1024) return {};
    if (auto gone_on = go_on(Until::written); !gone_on) return verdict_of(gone_on.error());
    if (late_) return verdict_of_timeout(run_.command, on_one_line(output_));
    return {};
}

Verdict Command::commit() {
    text_.finish(buffer_);
    auto gone_on = go_on(Until::written);
    input_.reset();
    if (gone_on) gone_on = go_on(Until::ended);
    if (!gone_on) return verdict_of(gone_on.error());
    CRASH_POINT("local.command_ended");
    const auto output = on_one_line(output_);
    return late_ ? verdict_of_timeout(run_.command, output) : verdict_of_exit(child_.status(), run_.command, output);
}

} // namespace local
