// postrider-drop: leaves a submission for pickup in the drop directory. Set-gid to the group that may write
// there, so it takes nothing from its caller but frames on standard input: no configuration, no path, no
// environment.
#include "daemons/common/ipc/frame.h"
#include "daemons/common/ipc/message.h"
#include "daemons/common/process/privileges.h"
#include "daemons/common/proto/submit.h"
#include "daemons/sendmail/drop_file.h"
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

namespace {

int fail(int status, const std::string& text) {
    std::fprintf(stderr, "postrider-drop: %s\n", text.c_str());
    return status;
}

std::string access_advice() {
    if (::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1)
        return ": the caller runs with no_new_privs (systemd: NoNewPrivileges=yes), so postrider-drop cannot "
               "get its group; such programs can submit mail only while the mail system is running";
    return ": postrider-drop must belong to the directory's group (mta.drop_group) and be set-gid to it, mode 2755";
}

// What is copied is a beginning, recipients, content and an end: an answer, a second beginning or nonsense is not.
class FrameSequence {
public:
    bool take(const proto::submit::Message& message) {
        using namespace proto::submit;
        if (ended_ || std::holds_alternative<Answer>(message)) return false;
        if (std::holds_alternative<Begin>(message)) return !std::exchange(begun_, true);
        if (const auto* content = std::get_if<Content>(&message)) size_ += content->bytes.size();
        ended_ = std::holds_alternative<End>(message);
        return begun_;
    }
    bool ended() const { return ended_; }
    std::uint64_t size() const { return size_; } // of the content

private:
    bool begun_ = false, ended_ = false;
    std::uint64_t size_ = 0;
};

} // namespace

int main() {
    common::keep_standard_descriptors();
    common::close_descriptors_except(2);
    ::clearenv();
    ::umask(022);
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGXFSZ, SIG_IGN); // beyond the caller's limit (ulimit -f): told, and nothing is left behind
    auto file = sendmail::DropFile::create(POSTRIDER_SPOOL "/drop");
    if (!file) return fail(EX_TEMPFAIL, file.error().what + (file.error().code == EACCES ? access_advice() : ""));
    ipc::FrameReader frames;
    FrameSequence sequence;
    std::array<char, 65536> buffer;
    for (;;) {
        const auto n = ::read(0, buffer.data(), buffer.size());
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return fail(EX_IOERR, "standard input cannot be read");
        if (n == 0) break;
        const std::string_view bytes(buffer.data(), static_cast<std::size_t>(n));
        frames.feed(bytes);
        while (const auto frame = frames.next()) {
            const auto message = ipc::decode<proto::submit::Message>(*frame);
            if (!message || !sequence.take(*message)) return fail(EX_DATAERR, "only sendmail may call this program");
        }
        if (sequence.size() > file->limits().message_size)
            return fail(EX_DATAERR, "the message is larger than " + std::to_string(file->limits().message_size) +
                                        " bytes (submit.message_size)");
        if (frames.broken()) return fail(EX_DATAERR, "only sendmail may call this program");
        frames.keep();
        if (auto put = file->write(bytes); !put) return fail(EX_TEMPFAIL, put.error().what);
    }
    if (!sequence.ended() || frames.left_over() > 0) return fail(EX_DATAERR, "the message is incomplete");
    if (auto kept = file->finish(); !kept) return fail(EX_TEMPFAIL, kept.error().what);
    return EX_OK;
}
