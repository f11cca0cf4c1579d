// Which recipients of a message are on the suppression list, asked before it is accepted: a program that still waits
// learns it at once, instead of by a report. Must not know what is done about it.
#pragma once
#include "daemons/common/submission/recipient_checker.h"
#include "libspool/format/envelope.h"
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace pickup {

class SuppressedRecipients {
public:
    struct Suppressed {
        std::string address, reason;
    };
    explicit SuppressedRecipients(common::RecipientChecker& checker) : checker_(checker) {}
    // What is not answered yet is not waited for any longer.
    ~SuppressedRecipients();
    SuppressedRecipients(const SuppressedRecipients&) = delete;
    SuppressedRecipients& operator=(const SuppressedRecipients&) = delete;

    // Calls `found` once, perhaps at once, with those on the list. One that cannot be checked within some seconds
    // counts as not suppressed: the queue-manager finds out later. May destroy this.
    using Found = std::function<void(const std::vector<Suppressed>&)>;
    void find(const spool::Envelope& envelope, Found found);

private:
    void answered(const std::string& address, const common::RecipientChecker::Answer& answer);
    void answer_if_complete();

    common::RecipientChecker& checker_;
    Found found_;
    std::size_t open_ = 0; // recipients without an answer, and find() itself while it asks
    std::vector<std::uint64_t> asked_;
    std::vector<Suppressed> suppressed_;
};

} // namespace pickup
