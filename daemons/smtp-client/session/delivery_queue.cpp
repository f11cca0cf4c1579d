#include "daemons/smtp-client/session/delivery_queue.h"
#include <algorithm>

namespace smtp_client {

DeliveryJob* DeliveryQueue::in_session(std::uint64_t id) {
    for (std::size_t i = 0; i < in_session_; ++i)
        if (jobs_[i]->id() == id) return jobs_[i].get();
    return nullptr;
}

std::unique_ptr<DeliveryJob> DeliveryQueue::take(std::uint64_t id) {
    const auto place = std::ranges::find_if(jobs_, [&](auto& job) { return job->id() == id; });
    if (place == jobs_.end()) return nullptr;
    if (static_cast<std::size_t>(place - jobs_.begin()) < in_session_) --in_session_;
    auto job = std::move(*place);
    jobs_.erase(place);
    return job;
}

std::vector<std::uint64_t> DeliveryQueue::recall(smtp::ClientSession* session) {
    if (in_session_ > 0 && session && session->withdraw(jobs_[in_session_ - 1]->id())) --in_session_;
    std::vector<std::uint64_t> out;
    for (std::size_t i = in_session_; i < jobs_.size(); ++i) out.push_back(jobs_[i]->id());
    drop_waiting();
    return out;
}

DeliveryQueue::Cut DeliveryQueue::cut(std::uint64_t id, smtp::ClientSession* session) {
    const auto place = std::ranges::find_if(jobs_, [&](auto& job) { return job->id() == id; });
    if (place == jobs_.end()) return Cut::unknown;
    const auto index = static_cast<std::size_t>(place - jobs_.begin());
    const bool begun = index < in_session_ && !(index + 1 == in_session_ && session->withdraw(id));
    if (!begun) {
        if (index < in_session_) --in_session_;
        jobs_.erase(place);
        return Cut::removed;
    }
    if (session->content_sent(id)) return Cut::too_late;
    (*place)->cut();
    return Cut::marked;
}

void DeliveryQueue::session_ended() {
    in_session_ = 0;
    std::erase_if(jobs_, [](const auto& job) { return job->is_cut(); }); // they have been given back
    for (auto& job : jobs_) job->drop_content();
}

} // namespace smtp_client
