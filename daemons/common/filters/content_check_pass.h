// The content's rules on one incoming message before its commit: those for its header, then, reading its body piece by
// piece, the others. A body that rules change is read a second time and replaced as a whole, up to a size; nothing of
// others is kept. For smtpd and pickup.
#pragma once
#include "daemons/common/filters/content_checks.h"
#include "daemons/common/filters/header_check_result.h"
#include "daemons/common/filters/milter/message.h"
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace common {

class ContentCheckPass {
public:
    static constexpr std::size_t largest_changed_body = 64 * 1024 * 1024;

    // All of them outlive it.
    ContentCheckPass(const ContentRules& rules, milter::Message& message);
    ContentCheckPass(const ContentCheckPass&) = delete;
    ContentCheckPass& operator=(const ContentCheckPass&) = delete;

    // `done`: once, at once or later, unless this is destroyed before. The error: the message cannot be read.
    using Done = std::function<void(spool::Result<HeaderCheckResult>)>;
    void begin(Done done);

private:
    void start_reading();
    void read_on();
    void take_piece(spool::Result<std::string> piece);
    void finish();

    const ContentRules& rules_;
    milter::Message& message_;
    std::optional<ContentChecks> checks_;
    HeaderCheckResult result_;
    Done done_;
    std::uint64_t offset_ = 0; // of the body
    bool replaces_ = false;    // while it is read the second time
    std::string body_;         // as the rules change it; while it is only examined, one piece
    std::uint64_t size_ = 0;   // of all of that
    bool reading_ = false, again_ = false;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(); // expired: destroyed from within `done`
};

} // namespace common
