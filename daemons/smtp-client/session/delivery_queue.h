// The deliveries that a connection has taken and not reported, in their order; the first of them may be with the
// session. Knows which are, and takes back what is not begun; decides nothing about any of them.
#pragma once
#include "daemons/smtp-client/session/delivery_job.h"
#include "libsmtp/session/client_session.h"
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

namespace smtp_client {

class DeliveryQueue {
public:
    bool empty() const { return jobs_.empty(); }
    DeliveryJob& front() { return *jobs_.front(); }
    const DeliveryJob& front() const { return *jobs_.front(); }
    void push(std::unique_ptr<DeliveryJob> job) { jobs_.push_back(std::move(job)); }

    // The first that is not with the session; null: all are.
    DeliveryJob* next() { return in_session_ < jobs_.size() ? jobs_[in_session_].get() : nullptr; }
    void next_handed_over() { ++in_session_; }
    void drop_next() { jobs_.erase(jobs_.begin() + static_cast<std::ptrdiff_t>(in_session_)); }
    void drop_waiting() { jobs_.resize(in_session_); }
    bool none_in_session() const { return in_session_ == 0; }
    // Null: it is not with the session.
    DeliveryJob* in_session(std::uint64_t id);
    // It is over. Null: there is none of that number.
    std::unique_ptr<DeliveryJob> take(std::uint64_t id);

    // All that is not begun, in order. `session`: null without one; what it has not begun, it gives back.
    std::vector<std::uint64_t> recall(smtp::ClientSession* session);
    enum class Cut : std::uint8_t {
        unknown,  // there is none of that number
        removed,  // it had not begun
        too_late, // all of it has been sent
        marked,   // it ends with its conversation
    };
    Cut cut(std::uint64_t id, smtp::ClientSession* session);
    // The session has ended: its deliveries are for the next one, except those that were cut.
    void session_ended();

private:
    std::deque<std::unique_ptr<DeliveryJob>> jobs_;
    std::size_t in_session_ = 0; // of them, the first
};

} // namespace smtp_client
