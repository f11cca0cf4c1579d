// Connections to another daemon, made as they are needed, each with one job at a time; further jobs wait for a while,
// in their order. Knows neither what the jobs are nor how a connection does them.
#pragma once
#include "daemons/common/runtime/timer.h"
#include <algorithm>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <utility>

namespace http {

struct JobLimits {
    std::size_t connections, waiting;
    smtp::Duration wait; // of a job, for a connection
};

// Connection: usable(), busy(), start(Job). Job: `asked`, when it came.
template <class Connection, class Job> class JobConnections {
public:
    using Make = std::function<std::unique_ptr<Connection>()>;
    using TooLate = std::function<void(Job&)>; // it has waited for too long

    JobConnections(common::Loop& loop, JobLimits limits, Make make, TooLate too_late)
        : limits_(limits), make_(std::move(make)), too_late_(std::move(too_late)), expiry_(loop, [this] { expire(); }) {
    }
    JobConnections(const JobConnections&) = delete;
    JobConnections& operator=(const JobConnections&) = delete;

    bool full() const { return waiting_.size() >= limits_.waiting; }
    void add(Job job) {
        waiting_.push_back(std::move(job));
        assign();
    }
    void for_each(const std::function<void(Connection&)>& see) {
        for (auto& each : connections_) see(*each);
    }
    // Also when a connection has become usable.
    void assign() {
        while (!waiting_.empty()) {
            const auto idle = std::ranges::find_if(connections_, [](const auto& each) { return each->usable(); });
            if (idle == connections_.end()) break;
            (*idle)->start(take());
        }
        if (waiting_.empty()) return;
        const auto busy = static_cast<std::size_t>(
            std::ranges::count_if(connections_, [](const auto& each) { return each->busy(); }));
        if (busy == connections_.size() && busy < limits_.connections) connections_.push_back(make_());
        if (!expiry_.armed()) expiry_.start(look_interval);
    }

private:
    static constexpr smtp::Duration look_interval = std::chrono::milliseconds(500);

    Job take() {
        auto job = std::move(waiting_.front());
        waiting_.pop_front();
        return job;
    }
    void expire() {
        const auto now = common::Loop::now().monotonic;
        while (!waiting_.empty() && now - waiting_.front().asked > limits_.wait) {
            auto job = take();
            too_late_(job);
        }
        if (!waiting_.empty()) expiry_.start(look_interval);
    }

    const JobLimits limits_;
    const Make make_;
    const TooLate too_late_;
    std::deque<Job> waiting_;
    std::list<std::unique_ptr<Connection>> connections_;
    common::Timer expiry_;
};

} // namespace http
