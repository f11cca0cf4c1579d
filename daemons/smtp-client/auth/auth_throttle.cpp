#include "daemons/smtp-client/auth/auth_throttle.h"
#include <utility>

namespace smtp_client {

std::unique_ptr<AuthTurns::Turn> AuthTurns::ask(const std::string& account, smtp::Monotonic now,
                                                std::function<void()> changed) {
    std::unique_ptr<Turn> turn(new Turn(*this, account, std::move(changed)));
    Door& door = doors_[account];
    if (door.good) {
        turn->state_ = Turn::State::come;
    } else if (!door.refused.empty() && now < door.until) {
        turn->state_ = Turn::State::over;
        turn->refused_ = door.refused;
    } else if (door.busy) {
        door.waiting.push_back(turn.get());
    } else {
        turn->state_ = Turn::State::come;
        door.busy = turn.get();
    }
    return turn;
}

AuthTurns::Turn::~Turn() {
    Door& door = turns_.doors_[account_];
    std::erase(door.waiting, this);
    if (door.busy != this) return;
    door.busy = nullptr;
    turns_.next(door);
}

void AuthTurns::next(Door& door) {
    if (door.busy || door.waiting.empty()) return;
    door.busy = door.waiting.front();
    door.waiting.pop_front();
    door.busy->state_ = Turn::State::come;
    door.busy->changed_();
}

void AuthTurns::Turn::accepted() {
    state_ = State::over;
    Door& door = turns_.doors_[account_];
    door.good = true;
    door.refused.clear();
    if (door.busy == this) door.busy = nullptr;
    for (auto* each : std::exchange(door.waiting, {})) {
        each->state_ = State::come;
        each->changed_();
    }
}

void AuthTurns::Turn::refused(const std::string& why, smtp::Monotonic now) {
    state_ = State::over;
    Door& door = turns_.doors_[account_];
    door.good = false;
    door.refused = why;
    door.until = now + refusal_holds;
    if (door.busy == this) door.busy = nullptr;
    for (auto* each : std::exchange(door.waiting, {})) {
        each->state_ = State::over;
        each->refused_ = why;
        each->changed_();
    }
}

void AuthTurns::forget() {
    for (auto& [account, door] : doors_) {
        door.good = false;
        door.refused.clear();
    }
    std::erase_if(doors_, [](const auto& each) { return !each.second.busy && each.second.waiting.empty(); });
}

std::vector<std::string> AuthTurns::refusals() const {
    std::vector<std::string> out;
    for (const auto& [account, door] : doors_)
        if (!door.refused.empty()) out.push_back(account + ": " + door.refused);
    return out;
}

} // namespace smtp_client
