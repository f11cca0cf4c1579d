#include "daemons/smtp-client/auth/auth_throttle.h"
#include <utility>

namespace smtp_client {

std::unique_ptr<AuthThrottle::Ticket> AuthThrottle::request(const std::string& account, smtp::Monotonic now,
                                                            std::function<void()> changed) {
    std::unique_ptr<Ticket> ticket(new Ticket(*this, account, std::move(changed)));
    AccountState& account_state = accounts_[account];
    if (account_state.good) {
        ticket->state_ = Ticket::State::granted;
    } else if (!account_state.refused.empty() && now < account_state.until) {
        ticket->state_ = Ticket::State::over;
        ticket->rejection_ = account_state.refused;
    } else if (account_state.busy) {
        account_state.waiting.push_back(ticket.get());
    } else {
        ticket->state_ = Ticket::State::granted;
        account_state.busy = ticket.get();
    }
    return ticket;
}

AuthThrottle::Ticket::~Ticket() {
    AccountState& account_state = throttle_.accounts_[account_];
    std::erase(account_state.waiting, this);
    if (account_state.busy != this) return;
    account_state.busy = nullptr;
    throttle_.grant_next(account_state);
}

void AuthThrottle::grant_next(AccountState& account_state) {
    if (account_state.busy || account_state.waiting.empty()) return;
    account_state.busy = account_state.waiting.front();
    account_state.waiting.pop_front();
    account_state.busy->state_ = Ticket::State::granted;
    account_state.busy->changed_();
}

void AuthThrottle::Ticket::accepted() {
    state_ = State::over;
    AccountState& account_state = throttle_.accounts_[account_];
    account_state.good = true;
    account_state.refused.clear();
    if (account_state.busy == this) account_state.busy = nullptr;
    for (auto* each : std::exchange(account_state.waiting, {})) {
        each->state_ = State::granted;
        each->changed_();
    }
}

void AuthThrottle::Ticket::rejected(const std::string& why, smtp::Monotonic now) {
    state_ = State::over;
    AccountState& account_state = throttle_.accounts_[account_];
    account_state.good = false;
    account_state.refused = why;
    account_state.until = now + rejection_lifetime;
    if (account_state.busy == this) account_state.busy = nullptr;
    for (auto* each : std::exchange(account_state.waiting, {})) {
        each->state_ = State::over;
        each->rejection_ = why;
        each->changed_();
    }
}

void AuthThrottle::reset() {
    for (auto& [account, account_state] : accounts_) {
        account_state.good = false;
        account_state.refused.clear();
    }
    std::erase_if(accounts_, [](const auto& each) { return !each.second.busy && each.second.waiting.empty(); });
}

std::vector<std::string> AuthThrottle::rejected_accounts() const {
    std::vector<std::string> out;
    for (const auto& [account, account_state] : accounts_)
        if (!account_state.refused.empty()) out.push_back(account + ": " + account_state.refused);
    return out;
}

} // namespace smtp_client
