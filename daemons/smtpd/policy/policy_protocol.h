// The policy delegation protocol of Postfix's policy servers: a question is lines of name=value and an empty
// one, the answer is a line action=… and an empty one. Pure: texts in and out, bounded.
#pragma once
#include "daemons/smtpd/policy/policy_chain.h"
#include "libsmtp/text/text.h"
#include <expected>

namespace smtpd {

std::string policy_request(Stage stage, const PolicyContext& context);

// Takes an answer in pieces.
class PolicyAnswer {
public:
    enum class State : std::uint8_t { incomplete, complete, malformed };
    static constexpr std::size_t limit = 16 * 1024;

    State feed(std::string_view bytes);
    // complete: what stood behind "action=". Ready for the next answer afterwards.
    std::string take() {
        state_ = State::incomplete;
        return std::exchange(action_, {});
    }

private:
    State state_ = State::incomplete;
    std::string line_, action_;
    std::size_t size_ = 0;
};

// What an action of access(5) means for us; those we do not know are malformed.
std::expected<PolicyVerdict, smtp::Malformed> parse_policy_action(std::string_view action, Stage stage,
                                                                  const PolicyContext& context);

// "<x@y>: Recipient address rejected: text", as logs and clients know it.
std::string rejection_text(Stage stage, const PolicyContext& context, std::string_view text);

} // namespace smtpd
