#include "daemons/pickup/drop.h"
#include "daemons/common/ipc/message.h"
#include "libspool/disk/quarantine.h"
#include <algorithm>
#include <array>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/stat.h>

namespace pickup {

using namespace std::chrono_literals;
using namespace proto::submit;

namespace {
constexpr auto broken_off_after = 1h; // a file without an end that is not being written: its writer died
} // namespace

Drop::Drop(SubmissionContext& context) : context_(context), timer_(context.loop, [this] { scan(); }) {
    directory_ = common::Fd(
        ::openat(context.spool_writer.disk().directory(), "drop", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!directory_) {
        context_.log.error("the drop directory cannot be opened: {}", std::strerror(errno));
        return;
    }
    watch();
}

Drop::~Drop() {
    *alive_ = false;
    if (submission_) submission_->abandon();
}

void Drop::watch() {
    inotify_ = common::Fd(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
    const auto path = context_.config->drop_directory;
    if (!inotify_ || ::inotify_add_watch(inotify_.number(), path.c_str(), IN_CLOSE_WRITE | IN_MOVED_TO) < 0) {
        context_.log.warning("{} cannot be watched: {}", path, std::strerror(errno));
        return;
    }
    watch_ = common::make_poll(context_.loop.uv(), this, inotify_.number());
    uv_poll_start(watch_.get(), UV_READABLE, [](uv_poll_t* poll, int, int) {
        auto* self = common::owner_of<Drop>(poll);
        if (!self) return;
        std::array<char, 4096> events;
        while (::read(self->inotify_.number(), events.data(), events.size()) > 0) {
        }
        self->scan();
    });
}

void Drop::scan() {
    timer_.start(context_.config->submit.drop_interval);
    if (closed_ || !directory_) return;
    again_ = busy(); // then the last file under way starts another scan when it is done
    if (again_) return;
    const int fd = ::openat(directory_.number(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR* stream = fd < 0 ? nullptr : ::fdopendir(fd);
    if (stream == nullptr) {
        if (fd >= 0) ::close(fd);
        context_.log.error("the drop directory cannot be read: {}", std::strerror(errno));
        return;
    }
    names_.clear();
    throttled_users_.clear();
    std::map<std::string, std::string> left; // of `finished_names_`, those that still exist
    while (const dirent* entry = ::readdir(stream))
        if (entry->d_name[0] != '.') names_.emplace_back(entry->d_name);
    ::closedir(stream);
    for (const auto& name : names_)
        if (auto one = finished_names_.extract(name)) left.insert(std::move(one));
    finished_names_ = std::move(left);
    std::ranges::sort(names_); // names begin with the time
    next_file();
}

void Drop::next_file() {
    while (!closed_ && !names_.empty()) {
        name_ = std::move(names_.front());
        names_.pop_front();
        if (const auto before = finished_names_.extract(name_)) {
            finish_name(before.mapped());
            continue;
        }
        if (open_file(name_)) return read_more();
    }
    if (again_) scan();
}

// Opened without following links; regular, one link, not being written.
bool Drop::open_file(const std::string& name) {
    common::Fd fd(::openat(directory_.number(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    struct stat st{};
    if (!fd || ::fstat(fd.number(), &st) != 0) {
        if (errno != ENOENT) context_.log.warning("drop/{} cannot be opened: {}", name, std::strerror(errno));
        return false;
    }
    if (!S_ISREG(st.st_mode) || st.st_nlink != 1 || (st.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
        context_.log.warning("drop/{} is not a regular file with a single owner and link; ignored", name);
        return false;
    }
    if (throttled_users_.contains(st.st_uid)) return false;
    if (::flock(fd.number(), LOCK_SH | LOCK_NB) != 0) return false; // being written
    file_ = std::move(fd);
    frames_ = {};
    submission_ = Submission::create(
        context_, st.st_uid, [this](const Answer& answer) { answered(answer); }, RejectionNotice::by_report);
    return true;
}

// A piece per turn, so that a large file does not delay other work.
void Drop::read_more() {
    std::array<char, 2 * largest_content> piece;
    const auto n = ::read(file_.number(), piece.data(), piece.size());
    if (n < 0) {
        context_.log.error("drop/{} cannot be read: {}", name_, std::strerror(errno));
        return close_file();
    }
    if (n == 0) return leave_in_place();
    frames_.feed({piece.data(), static_cast<std::size_t>(n)});
    while (const auto frame = frames_.next()) {
        const auto message = ipc::decode<Message>(*frame);
        if (!message) return abort_unreadable("malformed: " + message.error().why);
        submission_->take(*message);
        if (submission_->ended()) return; // answered() follows
    }
    if (frames_.broken()) return abort_unreadable("malformed");
    frames_.keep();
    const auto go_on = [this, alive = alive_] {
        if (*alive && submission_) read_more();
    };
    if (submission_->wants_pause())
        submission_->on_resume([this, go_on] { context_.loop.defer(go_on); });
    else
        context_.loop.defer(go_on);
}

// It has no end (yet): the helper died, or the power failed, before the message was reported as accepted.
void Drop::leave_in_place() {
    struct stat st{};
    const bool old =
        ::fstat(file_.number(), &st) == 0 &&
        std::chrono::system_clock::now() - std::chrono::system_clock::from_time_t(st.st_mtime) > broken_off_after;
    if (old) {
        context_.log.warning("drop/{}: incomplete, so its acceptance was never reported", name_);
        finish_name("it is incomplete");
    }
    close_file();
}

// The program that left it was told that it was accepted: what can be understood of it becomes a report.
void Drop::abort_unreadable(const std::string& why) {
    submission_->abort_unreadable(why); // answered() follows
}

void Drop::answered(const Answer& answer) {
    if (answer.status == EX_OK) {
        // A crash between the commit and this delivers the message twice, never not at all.
        const auto* returned = submission_->returned();
        if (returned)
            context_.log.warning("drop/{}: refused ({}): {} reports it", name_, returned->reason(), answer.queue_id);
        finish_name(returned && !returned->whole() ? returned->reason() : "");
        return close_file();
    }
    if (submission_->over_limit()) { // it stays, and its user's others
        struct stat st{};
        if (::fstat(file_.number(), &st) == 0) throttled_users_.insert(st.st_uid);
        return close_file();
    }
    if (submission_->mail_refused()) names_.clear(); // no mail can be accepted now: all stay for a later scan
    close_file();                                    // it stays
}

// Removes the file under way, or moves it to quarantine/incomplete/ with a reason. If that fails now it is
// remembered, or it would be submitted at every scan.
void Drop::finish_name(const std::string& aside) {
    if (aside.empty()) {
        if (::unlinkat(directory_.number(), name_.c_str(), 0) == 0 || errno == ENOENT) return;
        context_.log.error("drop/{} was submitted and cannot be removed: {}", name_, std::strerror(errno));
    } else {
        const auto to = spool::quarantine_file(context_.spool_writer.disk(), "drop/" + name_, "quarantine/incomplete",
                                               "drop." + name_, aside);
        if (to) return context_.log.warning("drop/{}: moved to {}", name_, *to);
        if (to.error().code == ENOENT) return;
        context_.log.error("drop/{} ({}) cannot be moved: {}", name_, aside, to.error().what);
    }
    finished_names_.insert_or_assign(name_, aside);
}

void Drop::close_file() {
    submission_->abandon();
    between_files_ = true;
    context_.loop.defer([this, alive = alive_, over = std::move(submission_)] {
        if (!*alive) return;
        between_files_ = false;
        next_file();
    });
    submission_ = nullptr;
    file_.reset();
}

} // namespace pickup
