#include "daemons/pickup/mail_directory.h"
#include "daemons/pickup/directory/mail_file.h"
#include <algorithm>
#include <array>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/inotify.h>
#include <unistd.h>

namespace pickup {

using namespace std::chrono_literals;
using namespace proto::submit;

namespace {

// Names examined by one scan, and of one owner kept for their turn; the next scan finds others.
constexpr std::size_t most_names = 200'000, most_of_owner = 10'000;
// Of a file that was there before it was watched, since it was last written: then it is taken as whole.
constexpr auto settles_after = 10s;
// Reads of events, of 16 KiB, before something else has its turn.
constexpr int most_reads = 16;

bool is_mail(std::string_view name) { return name.size() > 4 && name[0] != '.' && name.ends_with(".eml"); }

} // namespace

MailDirectory::MailDirectory(SubmissionContext& context, std::function<void(std::string_view)> report_problem)
    : context_(context), report_problem_(std::move(report_problem)), timer_(context.loop, [this] { scan(); }) {}

MailDirectory::~MailDirectory() {
    *alive_ = false;
    if (submission_) submission_->abandon();
}

void MailDirectory::reconfigure() {
    const auto& path = context_.config->submit.pickup_directory;
    if (path != path_) {
        path_ = path;
        forget();
        timer_.stop();
        report_problem_("");
    }
    if (!path_.empty()) scan();
}

void MailDirectory::forget() {
    watch_ = {};
    written_ = {};
    waiting_.clear();
    left_.clear();
    failed_.reset();
    inotify_.reset();
    directory_.reset(); // a file under way has its own descriptor, and stays where it is
}

// Removed and made again, perhaps: users put their files into another one than ours.
bool MailDirectory::is_replaced() const {
    struct stat now{}, ours{};
    return ::stat(path_.c_str(), &now) != 0 || ::fstat(directory_.number(), &ours) != 0 || now.st_ino != ours.st_ino ||
           now.st_dev != ours.st_dev;
}

// Ours, and such that no user removes the files of others.
void MailDirectory::open() {
    common::Fd directory(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    struct stat st{};
    const auto fail = [&](const std::string& why) {
        report_problem_(fmt::format("submit.pickup_directory: {}: {}", path_, why));
        context_.log.error("{}: {}", path_, why);
    };
    if (!directory && errno == EACCES)
        return fail("Permission denied; if it was made after Postrider had been started, restart Postrider");
    if (!directory || ::fstat(directory.number(), &st) != 0) return fail(std::strerror(errno));
    if (st.st_uid != ::geteuid()) return fail("it belongs to another user than Postrider runs as");
    if ((st.st_mode & (S_IWGRP | S_IWOTH)) != 0 && (st.st_mode & S_ISVTX) == 0)
        return fail("users could remove the files of others there: chmod +t");
    auto failed = FailedFiles::open(directory.number());
    if (!failed) return fail(failed.error());
    failed_.emplace(*std::move(failed));
    directory_ = std::move(directory);
    report_problem_("");
    watch();
}

void MailDirectory::open_failed() {
    auto failed = FailedFiles::open(directory_.number());
    if (!failed) return context_.log.error("{}: {}", path_, failed.error());
    context_.log.info("{}: failed/ was removed, and is made again", path_);
    failed_.emplace(*std::move(failed));
}

void MailDirectory::watch() {
    inotify_ = common::Fd(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
    if (!inotify_ || ::inotify_add_watch(inotify_.number(), path_.c_str(), WrittenFiles::mask()) < 0) {
        context_.log.warning("{} cannot be watched: {}", path_, std::strerror(errno));
        return;
    }
    watch_ = common::make_poll(context_.loop.uv(), this, inotify_.number());
    uv_poll_start(watch_.get(), UV_READABLE, [](uv_poll_t* poll, int, int) {
        if (auto* self = common::owner_of<MailDirectory>(poll)) self->take_events();
    });
}

void MailDirectory::take_events() {
    alignas(inotify_event) std::array<char, 16384> events;
    std::vector<std::string> whole;
    bool lost = false;
    ssize_t n = 0; // users may cause events as fast as they are read here
    for (int i = 0; i < most_reads && (n = ::read(inotify_.number(), events.data(), events.size())) > 0; ++i)
        lost = !written_.take({events.data(), static_cast<std::size_t>(n)}, whole) || lost;
    if (lost) return scan();
    for (const auto& name : whole) { // at once, or the files of others, found before, would keep it waiting
        struct stat st{};
        if (is_mail(name) && ::fstatat(directory_.number(), name.c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0) add(name, st);
    }
    if (!whole.empty() && !busy()) next_file();
}

bool MailDirectory::is_left(const std::string& name, const struct stat& st) const {
    const auto found = left_.find(name);
    return found != left_.end() && found->second == FileIdentity::of(st);
}

void MailDirectory::add(const std::string& name, const struct stat& st) {
    if (is_left(name, st)) return;
    auto& files = waiting_[st.st_uid];
    if (files.size() < most_of_owner) files.push_back(name);
}

void MailDirectory::scan() {
    if (path_.empty() || closed_) return;
    scan_soon_ = false;
    timer_.start(context_.config->submit.drop_interval);
    again_ = busy(); // then the last file under way starts another scan when it is done
    if (again_) return;
    if (directory_ && is_replaced()) forget();
    if (!directory_) open();
    if (!directory_) return;
    if (!failed_ || failed_->is_gone()) open_failed();
    const int fd = ::openat(directory_.number(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR* stream = fd < 0 ? nullptr : ::fdopendir(fd);
    if (stream == nullptr) {
        if (fd >= 0) ::close(fd);
        context_.log.error("{} cannot be read: {}", path_, std::strerror(errno));
        return;
    }
    waiting_.clear();
    throttled_users_.clear();
    unsettled_ = false;
    std::map<std::string, FileIdentity> left; // of `left_`, those that still exist
    std::size_t names = 0;
    while (const dirent* entry = ::readdir(stream)) {
        struct stat st{};
        if (!is_mail(entry->d_name)) continue;
        if (++names > most_names) break;
        if (::fstatat(directory_.number(), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0) continue;
        if (is_left(entry->d_name, st)) left.emplace(entry->d_name, FileIdentity::of(st));
        add(entry->d_name, st);
    }
    ::closedir(stream);
    left_ = std::move(left);
    for (auto& [owner, files] : waiting_) std::ranges::sort(files);
    next_file();
}

// One of each owner in turn.
void MailDirectory::next_file() {
    if (again_) return scan(); // before the others: a user may always have further ones
    while (!closed_ && !waiting_.empty()) {
        auto owner = waiting_.upper_bound(turn_);
        if (owner == waiting_.end()) owner = waiting_.begin();
        turn_ = owner->first;
        const auto name = std::move(owner->second.front());
        owner->second.pop_front();
        if (owner->second.empty() || throttled_users_.contains(turn_)) waiting_.erase(owner);
        if (!throttled_users_.contains(turn_) && begin_file(name)) return;
    }
    if (!unsettled_ || scan_soon_) return;
    scan_soon_ = true; // events, of which users cause as many as they like, do not put it off
    timer_.start(std::min<smtp::Duration>(settles_after, context_.config->submit.drop_interval));
}

// False: on to the next one.
bool MailDirectory::begin_file(const std::string& name) {
    struct stat st{};
    if (::fstatat(directory_.number(), name.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0) return false;
    if (S_ISREG(st.st_mode) && !is_whole(name, st)) return false;
    if (!is_acceptable(name, st)) return false;
    common::Fd fd(::openat(directory_.number(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!fd && (errno == EACCES || errno == EPERM)) {
        move_aside(name, st, "Postrider may not read it: give it the permission (chmod a+r)");
        return false;
    }
    struct stat opened{};
    if (!fd || ::fstat(fd.number(), &opened) != 0) {
        if (errno != ENOENT) context_.log.warning("{}/{} cannot be opened: {}", path_, name, std::strerror(errno));
        return false;
    }
    if (opened.st_ino != st.st_ino || opened.st_dev != st.st_dev) { // replaced in this moment
        unsettled_ = true;
        return false;
    }
    if (!is_acceptable(name, opened)) return false; // it may have got another name, or grown, since
    file_ = std::move(fd);
    name_ = name;
    stat_ = opened;
    submit();
    return true;
}

bool MailDirectory::is_whole(const std::string& name, const struct stat& st) {
    using State = WrittenFiles::State;
    const auto state = written_.state_of(name);
    if (state == State::whole) return true;
    const auto written = std::chrono::system_clock::from_time_t(std::max(st.st_mtime, st.st_ctime));
    const auto age = std::chrono::system_clock::now() - written;
    const bool settled = state != State::being_written && (age >= settles_after || age < -settles_after);
    unsettled_ = unsettled_ || !settled;
    return settled;
}

// Regular, of its owner alone.
bool MailDirectory::is_acceptable(const std::string& name, const struct stat& st) {
    const auto refuse = [&](std::string_view why) {
        move_aside(name, st, why);
        return false;
    };
    if (!S_ISREG(st.st_mode)) { // neither opened nor moved: it is for its owner to remove
        context_.log.warning("{}/{}: uid={}: it is not a regular file; ignored", path_, name, st.st_uid);
        left_.insert_or_assign(name, FileIdentity::of(st));
        return false;
    }
    if (st.st_nlink != 1) return refuse("it has further names (hard links)");
    if ((st.st_mode & (S_IWGRP | S_IWOTH)) != 0)
        return refuse("others than its owner may write it: take the permission away (chmod go-w)");
    const auto largest = context_.config->submit.message_size;
    if (static_cast<std::uint64_t>(st.st_size) > largest + largest_beginning)
        return refuse(fmt::format("it is larger than {} bytes (submit.message_size)", largest));
    return true;
}

// Its key is that of the file: found again after a crash, it is not sent twice.
void MailDirectory::submit() {
    std::string beginning(std::min<std::size_t>(largest_beginning, static_cast<std::size_t>(stat_.st_size)), '\0');
    const auto n = ::read(file_.number(), beginning.data(), beginning.size());
    if (n < 0) {
        context_.log.error("{}/{} cannot be read: {}", path_, name_, std::strerror(errno));
        return end_file();
    }
    beginning.resize(static_cast<std::size_t>(n));
    auto mail = MailFile::parse(beginning, n == stat_.st_size);
    if (!mail) {
        move_aside(name_, stat_, mail.error());
        return end_file();
    }
    submission_ = Submission::create(context_, stat_.st_uid, [this](const Answer& answer) { answered(answer); });
    submission_->set_key(FileIdentity::of(stat_).idempotency_key());
    Begin begin;
    begin.sender = std::move(mail->sender);
    begin.from_header = mail->receivers.empty();
    for (auto& each : mail->receivers) begin.recipients.push_back({.list = std::move(each), .orcpt = {}});
    submission_->take(Message(std::move(begin)));
    for (auto rest = std::string_view(beginning).substr(mail->message_at); !rest.empty() && !submission_->ended();) {
        const auto piece = rest.substr(0, largest_content);
        submission_->take(Message(Content{std::string(piece)}));
        rest.remove_prefix(piece.size());
    }
    if (!submission_->ended()) read_more(); // else answered() follows
}

// A piece per turn, so that a large file does not delay other work.
void MailDirectory::read_more() {
    const auto go_on = [this, alive = alive_] {
        if (*alive && submission_) read_more();
    };
    if (submission_->wants_pause()) return submission_->on_resume([this, go_on] { context_.loop.defer(go_on); });
    std::array<char, largest_content> piece;
    const auto n = ::read(file_.number(), piece.data(), piece.size());
    if (n < 0) {
        context_.log.error("{}/{} cannot be read: {}", path_, name_, std::strerror(errno));
        return end_file();
    }
    if (n > 0)
        submission_->take(Message(Content{std::string(piece.data(), static_cast<std::size_t>(n))}));
    else
        submission_->take(Message(End{}));
    if (!submission_->ended()) context_.loop.defer(go_on); // else answered() follows
}

void MailDirectory::answered(const Answer& answer) {
    if (answer.status == EX_OK) {
        context_.log.info("{}: was the file {} of the pickup directory", answer.queue_id, name_);
        remove();
    } else if (answer.status != EX_TEMPFAIL && is_still_there()) {
        move_aside(name_, stat_, answer.text);
    } else if (submission_->over_limit()) { // it stays, and its owner's others
        throttled_users_.insert(stat_.st_uid);
        waiting_.erase(stat_.st_uid);
    } else if (submission_->mail_refused()) { // no mail can be accepted now: all stay for a later scan
        waiting_.clear();
    }
    end_file();
}

// Or has another file its name meanwhile?
bool MailDirectory::is_still_there() const {
    struct stat st{};
    return ::fstatat(directory_.number(), name_.c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_ino == stat_.st_ino &&
           st.st_dev == stat_.st_dev;
}

void MailDirectory::remove() {
    if (!is_still_there()) return;
    if (::unlinkat(directory_.number(), name_.c_str(), 0) == 0 || errno == ENOENT) return written_.forget(name_);
    context_.log.error("{}/{} was sent and cannot be removed: {}", path_, name_, std::strerror(errno));
    left_.insert_or_assign(name_, FileIdentity::of(stat_));
}

// If that fails now it is remembered, or it would be tried at every scan.
void MailDirectory::move_aside(const std::string& name, const struct stat& st, std::string_view reason) {
    const auto owner = st.st_uid;
    if (!failed_) return;
    const auto stamp = common::Loop::now().wall.time_since_epoch().count();
    const auto to = failed_->move(directory_.number(), name, owner, stamp, reason);
    if (to) {
        context_.log.warning("{}/{}: uid={} refused: {}; moved to {}", path_, name, owner, reason, *to);
        return;
    }
    context_.log.error("{}/{}: uid={} refused: {}; it stays: {}", path_, name, owner, reason, to.error());
    left_.insert_or_assign(name, FileIdentity::of(st));
}

void MailDirectory::end_file() {
    if (submission_) submission_->abandon();
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
