// For daemons that take mail: asks the categorizer whether recipients in our own domains exist and are not suppressed,
// and caches the answers for a while. Never waits: answers come by callback, or at once from the cache. Without a
// categorizer the answer is "try later".
#pragma once
#include "daemons/common/ipc/connector.h"
#include "daemons/common/proto/recipient_check.h"
#include "daemons/common/runtime/timer.h"
#include <functional>
#include <string>
#include <unordered_map>

namespace common {

class RecipientChecker {
public:
    using Verdict = proto::recipient_check::Verdict;
    struct Answer {
        Verdict verdict = Verdict::try_later;
        std::string text;
        std::string status = {}; // unknown: "5.1.1"
        bool suppressed = false; // unknown: because it is on the suppression list
    };
    // May do anything; the question is over.
    using Done = std::function<void(const Answer&)>;

    RecipientChecker(Loop& loop, Log& log, const std::string& run, const ipc::Identity& identity);

    // The recipient asked about, and the mail it is for: its envelope sender ("" none), pool and lane ("" not known
    // yet).
    struct Subject {
        std::string address, sender, pool = {}, lane = {};
    };
    // Null: not remembered.
    const Answer* cached(const Subject& subject, smtp::Monotonic now);
    // `done` is called once, from the loop, unless cancelled.
    std::uint64_t ask(Subject subject, smtp::Monotonic now, Done done);
    // Are there suppressed recipients? Then recipients elsewhere may be rejected as well.
    bool any_suppressed() const { return any_suppressed_; }
    void cancel(std::uint64_t request) { open_.erase(request); }
    // The configuration has changed: what was cached may be wrong.
    void clear_cache();

private:
    struct Question {
        Subject subject;
        smtp::Monotonic until;
        Done done;
    };
    struct CacheEntry {
        Answer answer;
        smtp::Monotonic until;
    };
    void on_message(proto::recipient_check::Message&& message);
    std::string key_of(const Subject& subject) const;
    void on_connected();
    void expire_questions();
    void finish(std::uint64_t request, Answer answer);

    std::unordered_map<std::string, CacheEntry> new_cache_,
        old_cache_; // two generations: when the young one is full it becomes the old
    std::unordered_map<std::uint64_t, Question> open_;
    std::uint64_t last_ = 0;
    bool any_suppressed_ = false;
    Timer expiry_timer_;
    ipc::Connector<proto::recipient_check::Message> categorizer_;
};

} // namespace common
