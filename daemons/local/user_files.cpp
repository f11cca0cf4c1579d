#include "daemons/local/user_files.h"
#include "daemons/common/timer.h"
#include "daemons/common/uv_handle.h"
#include "daemons/local/user_file.h"
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fmt/format.h>
#include <pwd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace local {

using namespace std::chrono_literals;
using proto::user_files::Answer;
using proto::user_files::Read;
using proto::user_files::Said;
using spool::Error;
using spool::Result;

namespace {

constexpr std::ptrdiff_t most_at_a_time = 8;
// Those that were given up and sleep in the kernel (a file server that is gone) among them.
constexpr std::size_t most_processes = 64;
constexpr std::size_t most_waiting = 100'000;
constexpr auto patience = 20s; // for one file

Answer unreadable(std::string why) { return {0, Said::unreadable, "", "", std::move(why)}; }

} // namespace

// One process and what it says; here until the process has ended.
class UserFiles::Reading {
public:
    Reading(UserFiles& owner, Question question)
        : owner_(owner), question_(std::move(question)), timer_(owner.surroundings_.loop, [this] { too_long(); }) {}
    ~Reading() {
        if (pid_ <= 0) return;
        kill(pid_, SIGKILL);
        while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) continue;
    }
    Reading(const Reading&) = delete;
    Reading& operator=(const Reading&) = delete;

    Result<> start(const user_file::Order& order) {
        auto& loop = owner_.surroundings_.loop;
        auto [ours, theirs] = TRY(as_user::socket_pair());
        pid_ = TRY(as_user::start("file", {theirs.number()}));
        process_ = common::Fd(static_cast<int>(syscall(SYS_pidfd_open, pid_, 0)));
        if (!process_) return std::unexpected(Error::from_errno("watch a process that reads a file"));
        poll_ = common::make_poll(loop.uv(), this, process_.number());
        uv_poll_start(poll_.get(), UV_READABLE, [](uv_poll_t* poll, int, int) {
            if (auto* self = common::owner_of<Reading>(poll)) self->ended();
        });
        line_ = std::make_unique<Line>(
            std::make_unique<ipc::Connection>(loop, std::move(ours), nullptr),
            Line::Callbacks{[this](user_file::Message&& message) {
                                if (auto* answer = std::get_if<Answer>(&message)) tell(std::move(*answer));
                            },
                            [this](const std::string& reason) {
                                tell(unreadable(fmt::format("files of user {}: the process that reads them: {}",
                                                            question_.read.user, reason)));
                            }});
        line_->send(order);
        timer_.start(patience);
        return {};
    }
    bool told() const { return told_; } // whoever asked has been answered
    bool over() const { return told_ && pid_ == 0; }

private:
    using Line = ipc::Channel<user_file::Message>;

    void tell(Answer&& answer) {
        if (std::exchange(told_, true)) return;
        timer_.stop();
        owner_.answer(question_, std::move(answer));
        owner_.turn_.schedule();
    }
    void too_long() {
        kill(pid_, SIGKILL); // where it sleeps in the kernel, it ends when that wakes it
        tell(unreadable(fmt::format("files of user {} cannot be read: the file system does not answer",
                                    question_.read.user)));
    }
    void ended() { // what it said last may still be read, or its end
        uv_poll_stop(poll_.get());
        while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) continue;
        pid_ = 0;
        owner_.turn_.schedule();
    }

    UserFiles& owner_;
    const Question question_;
    common::Timer timer_;
    pid_t pid_ = 0;
    common::Fd process_; // a pidfd
    common::Handle<uv_poll_t> poll_;
    std::unique_ptr<Line> line_;
    bool told_ = false;
};

UserFiles::UserFiles(common::Surroundings& surroundings)
    : surroundings_(surroundings), turn_(surroundings.loop, [this] { go_on(); }) {}

UserFiles::~UserFiles() = default;

void UserFiles::configure(common::Orders& orders) {
    const auto& local = orders.config.local;
    forward_ = local.delivery.forward;
    minimum_uid_ = local.minimum_uid;
    change_ = orders.config.mta.users && geteuid() == 0;
    if (!change_) {
        const auto* entry = getpwuid(geteuid());
        const char* home = std::getenv("HOME");
        ourselves_ = entry ? entry->pw_name : "";
        home_ = home ? home : "";
    }
    if (listener_) return listener_->expect(orders.expected); // the socket in force stays
    auto fd = orders.take("local");
    if (!fd) return;
    listener_ = std::make_unique<ipc::Listener>(surroundings_.loop, surroundings_.log, std::move(fd),
                                                orders.expected);
    listener_->serve<proto::user_files::Message>(
        proto::user_files::conversation, {proto::Role::categorizer},
        [this](ipc::Peer, std::unique_ptr<Asker> asker) { welcome(std::move(asker)); });
}

void UserFiles::welcome(std::unique_ptr<Asker> asker) {
    const auto number = ++last_asker_;
    asker->set_callbacks({[this, number](proto::user_files::Message&& message) {
                              auto* read = std::get_if<Read>(&message);
                              if (read)
                                  asked({number, std::move(*read)});
                              else
                                  askers_.at(number)->fail("only Read is said here");
                          },
                          [this, number](const std::string&) {
                              std::erase_if(waiting_, [&](const auto& w) { return w.asker == number; });
                              auto gone = askers_.extract(number); // its callback is running
                              surroundings_.loop.later([keep = std::shared_ptr<Asker>(std::move(gone.mapped()))] {
                                  static_cast<void>(keep);
                              });
                          }});
    askers_.emplace(number, std::move(asker));
}

void UserFiles::asked(Question&& question) {
    if (waiting_.size() >= most_waiting || readings_.size() >= most_processes)
        return answer(question, unreadable("too many files of users wait to be read"));
    waiting_.push_back(std::move(question));
    turn_.schedule();
}

void UserFiles::go_on() {
    std::erase_if(readings_, [](const auto& reading) { return reading->over(); });
    auto running = std::ranges::count_if(readings_, [](const auto& reading) { return !reading->told(); });
    for (; running < most_at_a_time && !waiting_.empty() && readings_.size() < most_processes; ++running) {
        auto question = std::move(waiting_.front());
        waiting_.pop_front();
        const auto order = order_for(question.read);
        auto reading = std::make_unique<Reading>(*this, question);
        if (auto started = reading->start(order); started)
            readings_.push_back(std::move(reading));
        else
            answer(question, unreadable(started.error().what));
    }
}

void UserFiles::answer(const Question& question, Answer&& said) {
    said.request = question.read.request;
    if (const auto asker = askers_.find(question.asker); asker != askers_.end()) asker->second->send(said);
}

user_file::Order UserFiles::order_for(const Read& read) const {
    user_file::Order order;
    order.user = read.user;
    order.path = read.path;
    order.extension = read.extension;
    order.forward = forward_;
    order.home = read.user == ourselves_ ? home_ : "";
    order.minimum_uid = minimum_uid_;
    order.change = change_;
    return order;
}

} // namespace local
