#include "daemons/local/as_user/user_files.h"
#include "daemons/common/runtime/destroy_later.h"
#include "daemons/common/runtime/timer.h"
#include "daemons/common/runtime/uv_handle.h"
#include "daemons/local/as_user/user_file.h"
#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>
#include <utility>

namespace local {

using namespace std::chrono_literals;
using proto::user_files::Answer;
using proto::user_files::Read;
using proto::user_files::Status;
using spool::Error;
using spool::Result;

namespace {

// Maximum number of readings that have just begun; one that takes longer gives up its place, because it waits for
// something other than us.
constexpr std::ptrdiff_t most_at_a_time = 8;
constexpr auto a_moment = 1s;
// Maximum number including those that take longer: each for another user, because a user has one at a time.
constexpr std::size_t max_processes = 64;
constexpr std::size_t most_waiting = 100'000;
constexpr smtp::Duration rest_after_silence = 60s, forgotten_after = 10min;
constexpr int a_tenth = 100; // ms that a killed process has to end, during which no other request is served

Answer unreadable(std::string why) { return {0, Status::unreadable, "", "", std::move(why)}; }

std::string silent(const std::string& user) {
    return fmt::format("files of user {} cannot be read: the process that reads them does not answer", user);
}

} // namespace

// One process and its answer; kept until the process has ended, or cannot be waited for.
class UserFiles::Reading {
public:
    Reading(UserFiles& owner, Question question)
        : owner_(owner), question_(std::move(question)), timer_(owner.context_.loop, [this] { time_is_up(); }),
          child_(question_.read.user, owner.unreaped_) {}
    Reading(const Reading&) = delete;
    Reading& operator=(const Reading&) = delete;

    Result<> start(const user_file::ReadRequest& order) {
        auto& loop = owner_.context_.loop;
        auto [ours, theirs] = TRY(as_user::socket_pair());
        TRY(child_.start("file", {theirs.number()}));
        poll_ = common::make_poll(loop.uv(), this, child_.descriptor());
        uv_poll_start(poll_.get(), UV_READABLE, [](uv_poll_t* poll, int, int) {
            if (auto* self = common::owner_of<Reading>(poll)) self->ended();
        });
        line_ = std::make_unique<Line>(
            std::make_unique<ipc::Connection>(loop, std::move(ours), nullptr),
            Line::Callbacks{[this](user_file::Message&& message) {
                                auto* answer = std::get_if<Answer>(&message);
                                if (!answer) return;
                                owner_.hung_until_.erase(question_.read.user);
                                tell(std::move(*answer));
                            },
                            [this](const std::string& reason) {
                                tell(unreadable(fmt::format("files of user {}: the process that reads them: {}",
                                                            question_.read.user, reason)));
                            }});
        static_cast<void>(line_->send(order)); // a name and a path: that fits
        timer_.start(a_moment);
        return {};
    }
    const std::string& user() const { return question_.read.user; }
    bool told() const { return told_; } // the question has been answered
    bool has_place() const { return !told_ && !slow_; }
    bool over() const { return told_ && !child_.running(); }

private:
    using Line = ipc::Channel<user_file::Message>;

    void tell(Answer&& answer) {
        if (std::exchange(told_, true)) return;
        timer_.start(a_moment); // for it to end
        owner_.answer(question_, std::move(answer));
        owner_.turn_.schedule();
    }
    void time_is_up() {
        if (told_) return give_up();
        if (!std::exchange(slow_, true) && owner_.patience_ > a_moment) {
            timer_.start(owner_.patience_ - a_moment);
            return owner_.turn_.schedule();
        }
        owner_.mark_hung(question_.read.user);
        tell(unreadable(silent(question_.read.user)));
        give_up();
    }
    void give_up() {
        uv_poll_stop(poll_.get());
        child_.end(a_tenth);
        owner_.turn_.schedule();
    }
    void ended() { // its last message may still be unread, or its end
        uv_poll_stop(poll_.get());
        child_.wait(-1);
        owner_.turn_.schedule();
    }

    UserFiles& owner_;
    const Question question_;
    common::Timer timer_;
    Child child_;
    common::Handle<uv_poll_t> poll_;
    std::unique_ptr<Line> line_;
    bool told_ = false, slow_ = false;
};

UserFiles::UserFiles(common::DaemonContext& context, UnreapedProcesses& unreaped, smtp::Duration patience)
    : context_(context), unreaped_(unreaped), patience_(patience), turn_(context.loop, [this] { go_on(); }) {}

UserFiles::~UserFiles() = default;

void UserFiles::configure(const config::Local& local, const config::Mta& mta, common::DaemonConfig& daemon_config) {
    forward_ = local.delivery.forward;
    minimum_uid_ = local.minimum_uid;
    change_ = mta.users && geteuid() == 0;
    if (!change_) {
        const auto* entry = getpwuid(geteuid());
        const char* home = std::getenv("HOME");
        own_name_ = entry ? entry->pw_name : "";
        home_ = home ? home : "";
    }
    if (listener_) return listener_->expect(daemon_config.expected); // the socket in force stays
    auto fd = daemon_config.take("local");
    if (!fd) return;
    listener_ = std::make_unique<ipc::Listener>(context_.loop, context_.log, std::move(fd), daemon_config.expected);
    listener_->serve<proto::user_files::Message>(
        proto::user_files::conversation, {proto::Role::categorizer},
        [this](ipc::Peer, std::unique_ptr<Client> client) { welcome(std::move(client)); });
}

void UserFiles::welcome(std::unique_ptr<Client> client) {
    const auto number = ++last_client_;
    client->set_callbacks({[this, number](proto::user_files::Message&& message) {
                               auto* read = std::get_if<Read>(&message);
                               if (read)
                                   asked({number, std::move(*read)});
                               else
                                   clients_.at(number)->fail("unexpected message: only Read is accepted here");
                           },
                           [this, number](const std::string&) {
                               forget(number);
                               auto gone = clients_.extract(number); // its callback is running
                               common::destroy_later(context_.loop, std::move(gone.mapped()));
                           }});
    clients_.emplace(number, std::move(client));
}

void UserFiles::asked(Question&& question) {
    if (waiting_count_ >= most_waiting || readings_.size() >= max_processes)
        return answer(question, unreadable("too many files of users are waiting to be read"));
    if (is_hung(question.read.user)) return answer(question, unreadable(silent(question.read.user)));
    auto& its = waiting_[question.read.user];
    if (its.empty()) users_.push_back(question.read.user);
    its.push_back(std::move(question));
    ++waiting_count_;
    turn_.schedule();
}

void UserFiles::forget(std::uint64_t client) {
    for (auto& [user, its] : waiting_)
        waiting_count_ -= std::erase_if(its, [&](const auto& question) { return question.client == client; });
    std::erase_if(waiting_, [](const auto& each) { return each.second.empty(); });
    std::erase_if(users_, [&](const auto& user) { return !waiting_.contains(user); });
}

// For a while no files of this user are read: neither for waiting questions nor for new ones.
void UserFiles::mark_hung(const std::string& user) {
    const auto now = common::Loop::now().monotonic;
    std::erase_if(hung_until_, [&](const auto& each) { return each.second + forgotten_after <= now; });
    hung_until_[user] = now + rest_after_silence;
    context_.log.warning("{}, and was killed: mail for {} waits", silent(user), user);
    auto its = waiting_.extract(user);
    if (its.empty()) return;
    std::erase(users_, user);
    waiting_count_ -= its.mapped().size();
    for (const auto& question : its.mapped()) answer(question, unreadable(silent(user)));
}

bool UserFiles::is_busy(const std::string& user) const {
    return std::ranges::any_of(readings_, [&](const auto& each) { return !each->told() && each->user() == user; });
}

// After that, one question finds out whether the user's files can be read again.
bool UserFiles::is_hung(const std::string& user) const {
    const auto until = hung_until_.find(user);
    if (until == hung_until_.end()) return false;
    return common::Loop::now().monotonic < until->second || waiting_.contains(user) || is_busy(user);
}

// Users take turns, each with one process at a time.
void UserFiles::go_on() {
    std::erase_if(readings_, [](const auto& reading) { return reading->over(); });
    auto running = std::ranges::count_if(readings_, [](const auto& reading) { return reading->has_place(); });
    for (auto left = users_.size(); left > 0 && running < most_at_a_time && readings_.size() < max_processes; --left) {
        auto user = std::move(users_.front());
        users_.pop_front();
        if (is_busy(user)) {
            users_.push_back(std::move(user)); // its end schedules another round
            continue;
        }
        auto its = waiting_.find(user);
        auto question = std::move(its->second.front());
        its->second.pop_front();
        --waiting_count_;
        if (its->second.empty())
            waiting_.erase(its);
        else
            users_.push_back(std::move(user)), ++left;
        const auto order = read_request_for(question.read);
        auto reading = std::make_unique<Reading>(*this, question);
        if (auto started = reading->start(order); started) {
            readings_.push_back(std::move(reading));
            ++running;
        } else {
            answer(question, unreadable(started.error().what));
        }
    }
}

void UserFiles::answer(const Question& question, Answer&& said) {
    said.request = question.read.request;
    const auto client = clients_.find(question.client);
    if (client == clients_.end() || client->second->send(said) != ipc::SendResult::too_long) return;
    auto instead = unreadable("the answer about it is too long");
    instead.request = question.read.request;
    static_cast<void>(client->second->send(instead));
}

user_file::ReadRequest UserFiles::read_request_for(const Read& read) const {
    user_file::ReadRequest order;
    order.user = read.user;
    order.path = read.path;
    order.extension = read.extension;
    order.forward = forward_;
    order.home = read.user == own_name_ ? home_ : "";
    order.minimum_uid = minimum_uid_;
    order.change = change_;
    return order;
}

} // namespace local
