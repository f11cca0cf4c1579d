#include "daemons/http/backend/queue_client.h"
#include "daemons/common/ipc/json_lines.h"
#include <algorithm>
#include <utility>

namespace http {

using namespace std::chrono_literals;
namespace control = proto::relayed_control;
using nlohmann::json;

namespace {

QueueClient::Failure unavailable(std::string text) { return {"unavailable", std::move(text)}; }

} // namespace

class QueueClient::Connection {
public:
    explicit Connection(QueueClient& owner)
        : owner_(owner),
          patience_(owner.deadlines_, [this] { give_up(unavailable(owner_.server_.name + " does not answer.")); }),
          connector_(owner.context_.loop, owner.context_.log,
                     owner.context_.run_directory + "/private/" + owner.server_.socket, control::conversation,
                     owner.context_.identity,
                     {.on_message = [this](control::Message&& message) { take(std::move(message)); },
                      .on_up = [this] { owner_.jobs_.assign(); },
                      .on_down =
                          [this](const std::string&) {
                              if (auto why = std::exchange(failure_, {})) return end(std::move(*why));
                              end(unavailable(owner_.server_.name +
                                              " ended before it had answered: it may have carried out "
                                              "the request, completely or in part."));
                          }}) {}
    Connection(const Connection&) = delete;
    bool usable() const { return connector_.up() && !job_; }
    bool busy() const { return job_.has_value(); }

    void start(Job job) {
        job_.emplace(std::move(job));
        text_.clear();
        size_ = 0;
        lines_.clear();
        wait();
        const auto sent =
            connector_.send(control::Request{job_->principal.uid, job_->principal.name, std::move(job_->body)});
        if (sent == ipc::SendResult::too_long) end(Failure{"bad-request", "The request is too long."});
        if (sent == ipc::SendResult::not_open) end(unavailable(owner_.server_.name + " is not running."));
    }

    // True: it is cancelled.
    bool cancel_if_unwanted() {
        const bool unwanted = job_ && !failure_ && job_->unwanted && job_->unwanted();
        if (unwanted) give_up(unavailable("The request was cancelled."));
        return unwanted;
    }

private:
    void wait() { patience_.set(common::Loop::now().monotonic + job_->within); }

    void take(control::Message&& message) {
        auto* piece = std::get_if<control::Lines>(&message);
        if (failure_) return;
        if (!piece || !job_) return connector_.fail("an answer that was not asked for");
        if (cancel_if_unwanted()) return;
        wait();
        text_ += piece->text;
        size_ += piece->text.size();
        std::size_t at = 0;
        for (auto newline = text_.find('\n'); newline != text_.npos && job_; newline = text_.find('\n', at)) {
            auto line = json::parse(text_.begin() + static_cast<std::ptrdiff_t>(at),
                                    text_.begin() + static_cast<std::ptrdiff_t>(newline), nullptr, false);
            at = newline + 1;
            if (!line.is_object()) return connector_.fail("an answer that is not valid");
            if (line.contains("done")) {
                if (!line.contains("error")) return end_well();
                return end(Failure{line.value("code", ""), line.value("error", "")});
            }
            if (job_->on_line)
                job_->on_line(std::move(line));
            else
                lines_.push_back(std::move(line));
        }
        text_.erase(0, at);
        if (size_ > largest_answer && !job_->on_line)
            give_up(Failure{"too-large", "The answer is too large: ask for less at once."});
    }

    // What still comes is not wanted. The connection ends before anything else is asked over it.
    void give_up(Failure why) {
        failure_ = std::move(why);
        connector_.fail("given up");
    }
    void end_well() { finish({std::move(lines_), {}}); }
    void end(Failure why) {
        if (job_) finish({{}, std::move(why)});
    }
    void finish(Answer answer) {
        patience_.clear();
        text_.clear();
        auto job = std::move(*std::exchange(job_, {}));
        owner_.finish(job, std::move(answer));
        owner_.jobs_.assign();
    }

    QueueClient& owner_;
    std::optional<Job> job_;
    std::optional<Failure> failure_; // it is given up, and the connection about to end
    std::string text_;
    std::size_t size_ = 0;
    std::vector<json> lines_;
    common::Deadline patience_;
    ipc::Connector<control::Message> connector_;
};

QueueClient::QueueClient(common::DaemonContext& context, Server server)
    : context_(context), server_(std::move(server)), deadlines_(context.loop),
      jobs_(
          context.loop, {.connections = most_connections, .waiting = most_waiting, .wait = 5s},
          [this] { return std::make_unique<Connection>(*this); },
          [this](Job& job) { finish(job, {{}, unavailable(server_.name + " is not running, or too busy.")}); }) {}

QueueClient::~QueueClient() = default;

void QueueClient::ask(const Principal& principal, json request, Done done, OnLine on_line, smtp::Duration within,
                      Unwanted unwanted) {
    request["version"] = ipc::json_version;
    ++open_;
    Job job{.body = request.dump(-1, ' ', false, json::error_handler_t::replace),
            .principal = principal,
            .done = std::move(done),
            .on_line = std::move(on_line),
            .within = within,
            .unwanted = std::move(unwanted),
            .asked = common::Loop::now().monotonic};
    const auto refuse = [&](Failure why) {
        context_.loop.defer([this, job = std::make_shared<Job>(std::move(job)), why = std::move(why)]() mutable {
            finish(*job, {{}, std::move(why)});
        });
    };
    if (job.body.size() > control::longest_request) return refuse({"bad-request", "The request is too long."});
    if (jobs_.full()) return refuse(unavailable("Too many requests are being answered."));
    jobs_.add(std::move(job));
}

void QueueClient::cancel_unwanted() {
    jobs_.for_each([](Connection& each) { each.cancel_if_unwanted(); });
}

void QueueClient::finish(Job& job, Answer answer) {
    --open_;
    job.done(std::move(answer));
}

} // namespace http
