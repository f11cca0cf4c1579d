#include "daemons/sendmail/submit.h"
#include "daemons/common/ipc/frame.h"
#include "daemons/common/ipc/message.h"
#include "daemons/common/net/local_socket.h"
#include "daemons/common/process/programs.h"
#include "daemons/common/runtime/loop.h"
#include "daemons/common/submission/submit_client.h"
#include "daemons/sendmail/drop_file.h"
#include "daemons/sendmail/submission_check.h"
#include <chrono>
#include <fcntl.h>
#include <optional>
#include <spawn.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <thread>

namespace sendmail {

using namespace proto::submit;
using namespace std::chrono_literals;
using spool::Error;
using spool::Result;

namespace {

constexpr auto busy_timeout = 3s; // while pickup's queue of connections is full

// The frames of one message, one after the other.
class SubmissionFrames {
public:
    SubmissionFrames(const Begin& begin, std::string_view content) : begin_(begin), content_(content) {}
    // False: that was all.
    bool next(std::string& wire) {
        const auto begun = ipc::begin_frame(wire);
        if (step_ == 0) {
            Begin head = begin_;
            head.recipients = next_recipients();
            ipc::encode<Message>(head, wire);
            step_ = begin_.requests.empty() ? 2 : 1;
        } else if (step_ == 1) {
            ipc::encode<Message>(Requests{begin_.requests}, wire);
            step_ = 2;
        } else if (recipient_ < begin_.recipients.size()) {
            ipc::encode<Message>(Recipients{next_recipients()}, wire);
        } else if (!content_.empty()) {
            const auto piece = content_.substr(0, largest_content);
            content_.remove_prefix(piece.size());
            ipc::encode<Message>(Content{std::string(piece)}, wire);
        } else if (step_ == 2) {
            ipc::encode<Message>(End{}, wire);
            step_ = 3;
        } else {
            wire.resize(begun - 4);
            return false;
        }
        return ipc::end_frame(wire, begun);
    }

private:
    // As many as one frame has room for beside the rest of Begin; a list is as long as an argument may be at most.
    std::vector<Recipient> next_recipients() {
        std::vector<Recipient> out;
        for (std::size_t size = 0; recipient_ < begin_.recipients.size() && size < largest_content; ++recipient_) {
            out.push_back(begin_.recipients[recipient_]);
            size += ipc::size_on_wire(out.back());
        }
        return out;
    }

    const Begin& begin_;
    std::string_view content_;
    std::size_t recipient_ = 0; // the next
    int step_ = 0;
};

Answer temporary_failure(std::string text) { return {EX_TEMPFAIL, {}, std::move(text)}; }

Result<> write_drop_file(const std::string& directory, SubmissionFrames frames) {
    auto file = TRY(DropFile::create(directory));
    std::string wire;
    while (frames.next(wire)) {
        TRY(file.write(wire));
        wire.clear();
    }
    return file.finish();
}

// Through the set-gid helper, which knows where the drop directory is. Its exit status, or that it could not
// be run.
Result<int> run_drop_helper(SubmissionFrames frames) {
    const auto path = common::program_path("postrider-drop");
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return std::unexpected(Error::from_errno("pipe"));
    common::Fd out(ends[0]), in(ends[1]);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, out.number(), 0);
    char* const arguments[] = {const_cast<char*>("postrider-drop"), nullptr};
    char* const environment[] = {nullptr};
    pid_t child = 0;
    const int failed = ::posix_spawn(&child, path.c_str(), &actions, nullptr, arguments, environment);
    posix_spawn_file_actions_destroy(&actions);
    if (failed != 0) return std::unexpected(Error::from_errno(path, failed));
    out.reset();
    std::string wire;
    bool broken = false; // it went: its status says why
    while (!broken && frames.next(wire)) {
        for (std::size_t sent = 0; sent < wire.size() && !broken;) {
            const auto n = ::write(in.number(), wire.data() + sent, wire.size() - sent);
            if (n > 0) sent += static_cast<std::size_t>(n);
            broken = n < 0 && errno != EINTR;
        }
        wire.clear();
    }
    in.reset();
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : EX_SOFTWARE;
}

Answer submit_to_drop(const common::EffectiveConfig& config, const Begin& begin, std::string_view content) {
    if (auto rejection = check_submission(config, begin, content, common::Loop::now().wall)) return *rejection;
    const std::string down = "the mail system is not running, and the message cannot be queued for it: ";
    if (!config.mta.users) {
        const auto left = write_drop_file(config.spool.directory + "/drop", SubmissionFrames(begin, content));
        return left ? Answer{} : temporary_failure(down + left.error().what);
    }
    const auto status = run_drop_helper(SubmissionFrames(begin, content));
    if (!status) return temporary_failure(down + status.error().what);
    if (*status == EX_OK) return {};
    return {static_cast<std::uint8_t>(*status), {}, down + "see the message of postrider-drop"};
}

} // namespace

Answer submit(const common::EffectiveConfig& config, const Begin& begin, std::string_view content) {
    const auto path = config.spool.directory + "/run/submit";
    for (const auto until = std::chrono::steady_clock::now() + busy_timeout;;) {
        auto socket = common::connect_local(path);
        if (socket) {
            SubmissionFrames frames(begin, content);
            const auto next = [&](std::string& wire) {
                return frames.next(wire) ? common::Made::frame : common::Made::all;
            };
            if (auto answer = common::hand_over(std::move(*socket), next)) return *answer;
            return submit_to_drop(config, begin, content); // it went away before it had all of the message
        }
        if (socket.error().code != EAGAIN) return submit_to_drop(config, begin, content);
        if (std::chrono::steady_clock::now() > until)
            return temporary_failure("the mail system is too busy, try again later");
        std::this_thread::sleep_for(50ms);
    }
}

} // namespace sendmail
