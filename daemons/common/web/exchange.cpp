#include "daemons/common/web/exchange.h"
#include <algorithm>
#include <cstring>
#include <utility>

namespace web {

void Exchange::respond(Response response) {
    if (gone_ || answered_) return;
    response_ = std::move(response);
    answered_ = ended_ = true;
    if (wakers_.answered) wakers_.answered();
}

void Exchange::begin_stream(Response head) {
    if (gone_ || answered_) return;
    response_ = std::move(head);
    answered_ = streams_ = true;
    if (wakers_.answered) wakers_.answered();
}

void Exchange::write(std::string_view text) {
    if (gone_ || ended_) return;
    if (unread() + text.size() > most_unread) return abort();
    response_.body += text;
    if (wakers_.answered) wakers_.answered();
}

void Exchange::end() {
    if (gone_ || ended_) return;
    ended_ = true;
    if (wakers_.answered) wakers_.answered();
}

void Exchange::abort() {
    if (gone_ || ended_) return;
    ended_ = true;
    if (wakers_.cut) wakers_.cut();
    if (wakers_.answered) wakers_.answered();
}

std::size_t Exchange::take(char* into, std::size_t size) {
    const auto n = std::min(size, response_.body.size() - taken_);
    std::memcpy(into, response_.body.data() + taken_, n);
    taken_ += n;
    constexpr std::size_t worth_moving = 256 << 10;
    if (taken_ == response_.body.size() || taken_ >= worth_moving) { // a follower that lags may never empty it
        response_.body.erase(0, taken_);
        taken_ = 0;
    }
    return n;
}

void Exchange::leave(bool complete) {
    gone_ = true;
    wakers_ = {};
    drained_ = nullptr;
    const auto left = std::exchange(left_, nullptr);
    if (left && (!complete || (streams_ && !ended_))) left();
}

} // namespace web
