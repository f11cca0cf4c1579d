// Reports to the queue-manager the messages a writer has made durable, again on every new
// connection until each is Taken. Bounded: a writer checks waiting() before it accepts more
// mail. Also passes on smtpd's requests that mail be tried now. Header only: the writers
// (smtpd, pickup, bounce) are small, and this is all they send to the queue-manager.
#pragma once
#include "daemons/common/ipc/connector.h"
#include "daemons/common/ipc/parts.h"
#include "daemons/common/proto/submission.h"
#include "daemons/common/runtime/crash_point.h"
#include "libspool/disk/commit_pool.h"
#include "libspool/format/envelope.h"
#include "libspool/message/reusable_files.h"
#include <deque>
#include <functional>
#include <unordered_map>
#include <unordered_set>

namespace common {

// `id`: which it would have had; `first`: of the message that it repeats.
inline proto::submission::DoorEvent duplicate_event(const spool::Envelope& envelope, spool::QueueId id,
                                                    spool::QueueId first) {
    return {.client_name = envelope.client_name,
            .client_address = envelope.client_address,
            .helo = envelope.helo,
            .protocol = envelope.protocol,
            .user = envelope.sasl_user,
            .sender = envelope.reverse_path,
            .recipient = envelope.recipients.empty() ? std::string() : envelope.recipients.front().address,
            .id = id.text(),
            .key = envelope.idempotency_key,
            .first = first.text()};
}

class SubmissionQueue {
public:
    // `files`: the writer's reused ones; outlives it.
    SubmissionQueue(Loop& loop, Log& log, const std::string& run, const ipc::Identity& identity,
                    spool::ReusableFiles& files)
        : files_(files), loop_(loop),
          queue_manager_(loop, log, run + "/private/queue-manager", proto::submission::conversation, identity,
                         {[this](proto::submission::Message&& message) { on_message(message); },
                          [this] {
                              repeat_status();
                              send_files_in_use();
                              send_all();
                              send_duplicates();
                          },
                          [this](const std::string&) {
                              mark_unsent();
                              if (on_acceptance_) on_acceptance_({});
                              while (!tries_.empty()) tried(tries_.begin()->first, nullptr);
                          },
                          [this] {
                              send_all();
                              send_duplicates();
                          }}) {}

    // `envelope`: the encoded envelope, a hint; may be empty.
    void submit(const spool::DurableReceipt& receipt, const std::string& envelope) {
        auto& entry = waiting_[receipt.queue_id()];
        entry.size = receipt.size();
        entry.reused_file = receipt.reused_file();
        if (entry.reused_file.valid()) files_.passed_on(entry.reused_file);
        if (!queue_manager_.up() || queue_manager_.congested()) return;
        entry.sent = true;
        const bool short_enough = envelope.size() <= ipc::part_size; // others' messages do not wait for long hints
        send({receipt.queue_id(), receipt.size(), short_enough ? envelope : std::string(), false,
              entry.reused_file.value});
    }
    std::size_t waiting() const { return waiting_.size(); }
    // Why no mail is taken here; "": it is.
    void report_status(const std::string& obstacle) {
        if (obstacle_ == obstacle) return;
        obstacle_ = obstacle;
        if (queue_manager_.up()) static_cast<void>(queue_manager_.send(proto::submission::WriterStatus{obstacle_}));
    }

    // For the journal. False: it is lost.
    template <class Event> bool tell(const Event& event) {
        return queue_manager_.up() && !queue_manager_.congested() && accepted(queue_manager_.send(event));
    }
    // A message was not accepted because it is a duplicate: told as soon as the queue-manager is connected.
    void tell_of_duplicate(proto::submission::DoorEvent event) {
        event.kind = proto::submission::DoorEvent::Kind::duplicate;
        if (duplicates_.size() == most_duplicates) {
            duplicates_.pop_front();
            ++duplicates_lost_;
        }
        duplicates_.push_back(proto::submission::bounded(std::move(event)));
        send_duplicates();
    }

    // Null: the queue-manager is not connected, or was lost before it answered. Called once, from the loop, unless
    // cancelled.
    using TryDone = std::function<void(const proto::submission::DomainFlushed*)>;
    std::uint64_t try_now(const std::string& domain, bool with_subdomains, TryDone done) {
        const auto request = ++last_request_;
        tries_.emplace(request, std::move(done));
        if (queue_manager_.send(proto::submission::FlushDomain{request, domain, with_subdomains}) !=
            ipc::SendResult::yes)
            loop_.defer([this, request] { tried(request, nullptr); });
        return request;
    }
    void cancel(std::uint64_t request) { tries_.erase(request); }
    // Told why the queue-manager lets no mail be taken; "" it does, or it is not connected.
    void on_acceptance(std::function<void(const proto::submission::Acceptance&)> told) {
        on_acceptance_ = std::move(told);
    }
    // Called whenever the last message was taken; for an orderly stop.
    void on_empty(std::function<void()> empty) { on_empty_ = std::move(empty); }

private:
    static constexpr std::size_t most_duplicates = 1000; // that wait for the queue-manager
    static bool accepted(bool sent) { return sent; }
    static bool accepted(ipc::SendResult sent) { return sent == ipc::SendResult::yes; }
    void send_duplicates() {
        for (; !duplicates_.empty() && tell(duplicates_.front()); duplicates_.pop_front()) {
        }
        if (duplicates_lost_ > 0 && tell(proto::submission::DoorEventsLost{0, duplicates_lost_})) duplicates_lost_ = 0;
    }
    struct Entry {
        std::uint64_t size = 0;
        spool::QueueId reused_file = {};
        bool sent = false, repeated = false; // on this connection; on an earlier one
    };
    void send(const proto::submission::Submitted& submitted) { static_cast<void>(queue_manager_.send(submitted)); }
    void on_message(const proto::submission::Message& message) {
        if (const auto* answer = std::get_if<proto::submission::DomainFlushed>(&message))
            return tried(answer->request, answer);
        if (const auto* left = std::get_if<proto::submission::FilesLeft>(&message)) {
            for (const auto file : left->reusable) files_.returned(file);
            for (const auto file : left->kept) files_.lost(file);
            return;
        }
        if (const auto* acceptance = std::get_if<proto::submission::Acceptance>(&message)) {
            if (on_acceptance_) on_acceptance_(*acceptance);
            return;
        }
        const auto* taken = std::get_if<proto::submission::Taken>(&message);
        if (!taken)
            return queue_manager_.fail(
                "unexpected message: only Taken, FilesLeft, DomainFlushed and Acceptance are accepted here");
        CRASH_POINT("writer.taken");
        if (waiting_.erase(taken->queue_id) > 0 && waiting_.empty() && on_empty_) on_empty_();
    }
    void tried(std::uint64_t request, const proto::submission::DomainFlushed* answer) {
        if (const auto open = tries_.extract(request)) open.mapped()(answer);
    }
    void repeat_status() { // on a new connection: no obstacle is the default
        if (!obstacle_.empty()) static_cast<void>(queue_manager_.send(proto::submission::WriterStatus{obstacle_}));
    }
    // Those that are in use by messages the queue-manager has: others are named with their messages.
    void send_files_in_use() {
        proto::submission::FilesInUse out{files_.passed_on()};
        std::unordered_set<spool::QueueId> named;
        for (const auto& [id, entry] : waiting_) named.insert(entry.reused_file);
        std::erase_if(out.files, [&](spool::QueueId file) { return named.contains(file); });
        if (!out.files.empty()) static_cast<void>(queue_manager_.send(out));
    }
    void send_all() {
        for (auto& [id, entry] : waiting_) {
            if (entry.sent) continue;
            if (queue_manager_.congested()) return; // on_drained continues
            entry.sent = true;
            send({id, entry.size, {}, entry.repeated, entry.reused_file.value});
        }
    }
    void mark_unsent() {
        for (auto& [id, entry] : waiting_) entry.repeated |= std::exchange(entry.sent, false);
    }

    spool::ReusableFiles& files_;
    std::string obstacle_;
    std::unordered_map<spool::QueueId, Entry> waiting_;
    std::function<void()> on_empty_;
    std::function<void(const proto::submission::Acceptance&)> on_acceptance_;
    Loop& loop_;
    std::unordered_map<std::uint64_t, TryDone> tries_;
    std::uint64_t last_request_ = 0;
    std::deque<proto::submission::DoorEvent> duplicates_;
    std::uint64_t duplicates_lost_ = 0;
    ipc::Connector<proto::submission::Message> queue_manager_;
};

} // namespace common
