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
constexpr auto broken_off_after = 1h; // a file without an end, and nobody writing: its writer died
} // namespace

Drop::Drop(Service& service) : service_(service), timer_(service.loop, [this] { look(); }) {
    directory_ = common::Fd(
        ::openat(service.intake.disk().directory(), "drop", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!directory_) {
        service_.log.error("the drop directory cannot be opened: {}", std::strerror(errno));
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
    const auto path = service_.config->spool.directory + "/drop";
    if (!inotify_ || ::inotify_add_watch(inotify_.number(), path.c_str(), IN_CLOSE_WRITE | IN_MOVED_TO) < 0) {
        service_.log.warning("{} cannot be watched: {}", path, std::strerror(errno));
        return;
    }
    watch_ = common::make_poll(service_.loop.uv(), this, inotify_.number());
    uv_poll_start(watch_.get(), UV_READABLE, [](uv_poll_t* poll, int, int) {
        auto* self = common::owner_of<Drop>(poll);
        if (!self) return;
        std::array<char, 4096> events;
        while (::read(self->inotify_.number(), events.data(), events.size()) > 0) {
        }
        self->look();
    });
}

void Drop::look() {
    timer_.start(service_.config->submit.drop_interval);
    if (closed_ || !directory_) return;
    again_ = busy(); // then the last file under way looks again when it is done
    if (again_) return;
    const int fd = ::openat(directory_.number(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR* stream = fd < 0 ? nullptr : ::fdopendir(fd);
    if (stream == nullptr) {
        if (fd >= 0) ::close(fd);
        service_.log.error("the drop directory cannot be read: {}", std::strerror(errno));
        return;
    }
    names_.clear();
    sated_.clear();
    std::map<std::string, std::string> left; // of `settled_`, what is still there
    while (const dirent* entry = ::readdir(stream))
        if (entry->d_name[0] != '.') names_.emplace_back(entry->d_name);
    ::closedir(stream);
    for (const auto& name : names_)
        if (auto one = settled_.extract(name)) left.insert(std::move(one));
    settled_ = std::move(left);
    std::ranges::sort(names_); // names begin with the time
    next_file();
}

void Drop::next_file() {
    while (!closed_ && !names_.empty()) {
        name_ = std::move(names_.front());
        names_.pop_front();
        if (const auto before = settled_.extract(name_)) {
            settle(before.mapped());
            continue;
        }
        if (open_file(name_)) return read_more();
    }
    if (again_) look();
}

// Opened without following links; regular, one link, nobody writing to it.
bool Drop::open_file(const std::string& name) {
    common::Fd fd(
        ::openat(directory_.number(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    struct stat st{};
    if (!fd || ::fstat(fd.number(), &st) != 0) {
        if (errno != ENOENT) service_.log.warning("drop/{} cannot be opened: {}", name, std::strerror(errno));
        return false;
    }
    if (!S_ISREG(st.st_mode) || st.st_nlink != 1 || (st.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
        service_.log.warning("drop/{} is no regular file of one owner and one name; left alone", name);
        return false;
    }
    if (sated_.contains(st.st_uid)) return false;
    if (::flock(fd.number(), LOCK_SH | LOCK_NB) != 0) return false; // being written
    file_ = std::move(fd);
    frames_ = {};
    submission_ = Submission::create(
        service_, st.st_uid, [this](const Answer& answer) { answered(answer); }, Waits::nobody);
    return true;
}

// A piece per turn, so that a large file does not keep everybody waiting.
void Drop::read_more() {
    std::array<char, 2 * largest_content> piece;
    const auto n = ::read(file_.number(), piece.data(), piece.size());
    if (n < 0) {
        service_.log.error("drop/{} cannot be read: {}", name_, std::strerror(errno));
        return done_with_file();
    }
    if (n == 0) return leave_for_later();
    frames_.feed({piece.data(), static_cast<std::size_t>(n)});
    while (const auto frame = frames_.next()) {
        const auto message = ipc::decode<Message>(*frame);
        if (!message) return break_off("malformed: " + message.error().why);
        submission_->take(*message);
        if (submission_->ended()) return; // answered() follows
    }
    if (frames_.broken()) return break_off("malformed");
    frames_.keep();
    const auto go_on = [this, alive = alive_] {
        if (*alive && submission_) read_more();
    };
    if (submission_->wants_pause())
        submission_->on_resume([this, go_on] { service_.loop.later(go_on); });
    else
        service_.loop.later(go_on);
}

// It has no end (yet): the helper died, or the power went, before anybody was told that it was taken.
void Drop::leave_for_later() {
    struct stat st{};
    const bool old = ::fstat(file_.number(), &st) == 0 &&
                     std::chrono::system_clock::now() - std::chrono::system_clock::from_time_t(st.st_mtime) >
                         broken_off_after;
    if (old) {
        service_.log.warning("drop/{}: it has no end, so nobody was told that it was taken", name_);
        settle("it has no end");
    }
    done_with_file();
}

// Whoever left it was told that it was taken: what can be understood of it becomes a report.
void Drop::break_off(const std::string& why) {
    submission_->break_off(why); // answered() follows
}

void Drop::answered(const Answer& answer) {
    if (answer.status == EX_OK) {
        // Between the commit and this a crash makes the message come twice, never not at all.
        const auto* returned = submission_->returned();
        if (returned)
            service_.log.warning("drop/{}: refused ({}): {} reports it", name_, returned->reason(), answer.queue_id);
        settle(returned && !returned->whole() ? returned->reason() : "");
        return done_with_file();
    }
    if (submission_->over_limit()) { // it stays, and its user's others
        struct stat st{};
        if (::fstat(file_.number(), &st) == 0) sated_.insert(st.st_uid);
        return done_with_file();
    }
    if (submission_->shut()) names_.clear(); // nothing can be taken now: all stay, for a look in a while
    done_with_file();                        // it stays
}

// The file under way goes: for good, or with a reason to quarantine/incomplete/. If it cannot go now it is remembered, or
// it would be submitted at every look.
void Drop::settle(const std::string& aside) {
    if (aside.empty()) {
        if (::unlinkat(directory_.number(), name_.c_str(), 0) == 0 || errno == ENOENT) return;
        service_.log.error("drop/{} was submitted and cannot be removed: {}", name_, std::strerror(errno));
    } else {
        const auto to = spool::put_aside(service_.intake.disk(), "drop/" + name_, "quarantine/incomplete", "drop." + name_, aside);
        if (to) return service_.log.warning("drop/{}: moved to {}", name_, *to);
        if (to.error().code == ENOENT) return;
        service_.log.error("drop/{} ({}) cannot be moved: {}", name_, aside, to.error().what);
    }
    settled_.insert_or_assign(name_, aside);
}

void Drop::done_with_file() {
    submission_->abandon();
    between_files_ = true;
    service_.loop.later([this, alive = alive_, over = std::move(submission_)] {
        if (!*alive) return;
        between_files_ = false;
        next_file();
    });
    submission_ = nullptr;
    file_.reset();
}

} // namespace pickup
