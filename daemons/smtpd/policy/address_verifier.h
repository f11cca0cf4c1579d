// For smtpd's access rules: asks the queue-manager whether addresses are deliverable. Never waits longer than the time
// limit, and never for another question: without an answer in time, or without a queue-manager, an address is
// "unknown". Remembers nothing, and is not connected before the first question. Knows no rules and no sessions.
#pragma once
#include "daemons/common/ipc/connector.h"
#include "daemons/common/proto/verification.h"
#include "daemons/common/runtime/timer.h"
#include "libsmtp/text/time_types.h"
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

namespace smtpd {

class AddressVerifier {
public:
    struct Answer {
        decide::verification::Deliverability what = decide::verification::Deliverability::unknown;
        std::string text; // why
    };
    // May do anything; the question is over.
    using Done = std::function<void(const Answer&)>;

    AddressVerifier(common::Loop& loop, common::Log& log, const std::string& run, const ipc::Identity& identity);

    // For questions from now on.
    void set_wait(smtp::Duration wait) { wait_ = wait; }
    // `done` is called once, from the loop, unless cancelled.
    std::uint64_t ask(std::string address, smtp::Monotonic now, Done done);
    void cancel(std::uint64_t request) { open_.erase(request); }

    // The answer until the check is over.
    static Answer in_progress();

private:
    struct Question {
        std::string address;
        smtp::Monotonic until;
        Done done;
    };
    void on_message(proto::verification::Message&& message);
    void on_connected();
    void expire_questions();
    void finish(std::uint64_t request, const Answer& answer);
    void arm(smtp::Monotonic now);

    std::map<std::uint64_t, Question> open_; // in the order asked
    std::uint64_t last_ = 0;
    smtp::Duration wait_{};
    common::Timer expiry_timer_;
    std::function<void()> connect_;
    std::optional<ipc::Connector<proto::verification::Message>> queue_manager_;
};

} // namespace smtpd
