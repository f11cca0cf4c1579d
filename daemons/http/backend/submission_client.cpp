#include "daemons/http/backend/submission_client.h"
#include <algorithm>
#include <optional>
#include <sysexits.h>
#include <utility>

namespace http {

using namespace std::chrono_literals;
namespace relayed = proto::relayed_submission;
namespace submit = proto::submit;

namespace {

relayed::Outcome not_submitted(std::string text, relayed::Cause cause = relayed::Cause::unavailable) {
    relayed::Outcome outcome;
    outcome.status = EX_TEMPFAIL;
    outcome.text = std::move(text);
    outcome.cause = cause;
    return outcome;
}

} // namespace

class SubmissionClient::Connection {
public:
    explicit Connection(SubmissionClient& owner)
        : owner_(owner), patience_(owner.deadlines_, [this] { connector_.fail("no answer"); }),
          connector_(owner.context_.loop, owner.context_.log, owner.context_.run_directory + "/private/pickup",
                     relayed::conversation, owner.context_.identity,
                     {.on_message = [this](relayed::Message&& message) { take(std::move(message)); },
                      .on_up = [this] { owner_.jobs_.assign(); },
                      .on_down =
                          [this](const std::string&) {
                              if (job_)
                                  finish(not_submitted("The connection to pickup was lost: the message may have been "
                                                       "accepted. Try again with the same Idempotency-Key.",
                                                       relayed::Cause::in_doubt));
                          },
                      .on_drained = [this] { send_more(); }}) {}
    Connection(const Connection&) = delete;
    bool usable() const { return connector_.up() && !job_; }
    bool busy() const { return job_.has_value(); }

    void start(Job job) {
        job_.emplace(std::move(job));
        sent_ = recipient_ = 0;
        ended_ = false;
        patience_.set(common::Loop::now().monotonic + patience);
        auto& message = job_->message;
        bool fits = connector_.send(message.source) == ipc::SendResult::yes;
        if (!message.envelope.empty()) {
            if (!fits || !send_envelope(message.envelope)) return connector_.fail("a message that cannot be passed on");
            return send_more();
        }
        submit::Begin begin;
        begin.sender = message.sender;
        begin.recipients = next_recipients();
        fits = fits && connector_.send(begin) == ipc::SendResult::yes;
        if (fits && !message.requests.empty())
            fits = connector_.send(submit::Requests{message.requests}) == ipc::SendResult::yes;
        while (fits && recipient_ < message.recipients.size())
            fits = connector_.send(submit::Recipients{next_recipients()}) == ipc::SendResult::yes;
        if (!fits) return connector_.fail("a message that cannot be passed on");
        send_more();
    }

private:
    std::vector<submit::Recipient> next_recipients() {
        std::vector<submit::Recipient> out;
        const auto& all = job_->message.recipients;
        for (std::size_t size = 0; recipient_ < all.size() && size < submit::largest_content; ++recipient_) {
            size += all[recipient_].size() + 16;
            out.push_back({.list = all[recipient_], .orcpt = {}, .notify = 0});
        }
        return out;
    }
    bool send_envelope(std::string_view envelope) {
        while (!envelope.empty()) {
            submit::Import import;
            import.piece = envelope.substr(0, submit::largest_content);
            envelope.remove_prefix(import.piece.size());
            import.more = !envelope.empty();
            if (connector_.send(import) != ipc::SendResult::yes) return false;
        }
        return true;
    }
    void send_more() {
        if (!job_ || ended_) return;
        const std::string_view content = job_->message.content;
        while (sent_ < content.size() && !connector_.congested()) {
            const auto piece = content.substr(sent_, submit::largest_content);
            if (connector_.send(submit::Content{std::string(piece)}) != ipc::SendResult::yes) return;
            sent_ += piece.size();
        }
        if (sent_ < content.size()) return;
        ended_ = true;
        static_cast<void>(connector_.send(submit::End{}));
    }
    void take(relayed::Message&& message) {
        auto* outcome = std::get_if<Outcome>(&message);
        if (!outcome || !job_) return connector_.fail("an answer that was not asked for");
        finish(std::move(*outcome));
    }
    void finish(Outcome outcome) {
        patience_.clear();
        const bool all_sent = ended_;
        auto job = std::move(*std::exchange(job_, {}));
        if (!all_sent) connector_.fail("refused before its end"); // the rest of it must not begin the next one
        owner_.finish(job, std::move(outcome));
        owner_.jobs_.assign();
    }

    SubmissionClient& owner_;
    std::optional<Job> job_;
    std::size_t sent_ = 0, recipient_ = 0;
    bool ended_ = false;
    common::Deadline patience_;
    ipc::Connector<relayed::Message> connector_;
};

SubmissionClient::SubmissionClient(common::DaemonContext& context)
    : context_(context), deadlines_(context.loop),
      jobs_(
          context.loop, {.connections = most_connections, .waiting = most_waiting, .wait = 10s},
          [this] { return std::make_unique<Connection>(*this); },
          [this](Job& job) {
              finish(job, not_submitted("No mail is accepted: pickup is not running, or too busy."));
          }) {}

SubmissionClient::~SubmissionClient() = default;

void SubmissionClient::submit(NewMessage message, Done done) {
    ++open_;
    Job job{std::move(message), std::move(done), common::Loop::now().monotonic};
    if (jobs_.full())
        return context_.loop.defer([this, job = std::make_shared<Job>(std::move(job))] {
            finish(*job, not_submitted("Too many messages are being submitted."));
        });
    jobs_.add(std::move(job));
}

void SubmissionClient::finish(Job& job, Outcome outcome) {
    --open_;
    job.done(std::move(outcome));
}

} // namespace http
