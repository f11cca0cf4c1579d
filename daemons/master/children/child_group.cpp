#include "daemons/master/children/child_group.h"
#include <algorithm>
#include <fmt/format.h>
#include <sys/wait.h>

namespace master {

ChildGroup::ChildGroup(common::Loop& loop, common::Log& log, Child::Supervisor& supervisor)
    : loop_(loop), log_(log), supervisor_(supervisor), sweep_(loop, [this] {
          std::erase_if(children_, [](const auto& child) { return child->state() == Child::State::ended; });
      }) {}

void ChildGroup::add(common::PlannedProcess planned) {
    children_.push_back(std::make_unique<Child>(loop_, log_, supervisor_, std::move(planned)));
}

void ChildGroup::start(std::vector<common::PlannedProcess> plan) {
    for (auto& planned : plan) add(std::move(planned));
    for (auto& child : children_) child->start();
}

void ChildGroup::follow(std::vector<common::PlannedProcess> plan, smtp::Duration stop_within) {
    for (auto& child : children_)
        if (std::ranges::find(plan, child->name(), &common::PlannedProcess::name) == plan.end())
            child->stop(stop_within);
    for (auto& planned : plan) {
        const bool there = std::ranges::any_of(children_, [&](const auto& child) {
            return child->name() == planned.name && child->state() != Child::State::stopping &&
                   child->state() != Child::State::ended;
        });
        if (there) continue;
        add(std::move(planned));
        children_.back()->start();
    }
    forget_ended();
}

void ChildGroup::reap() {
    for (std::size_t i = 0; i < children_.size(); ++i) { // the supervisor never takes any out
        int status = 0;
        if (children_[i]->alive() && waitpid(children_[i]->pid(), &status, WNOHANG) == children_[i]->pid())
            children_[i]->has_ended(status);
    }
}

void ChildGroup::heartbeat() {
    for (auto& child : children_) child->heartbeat();
}

void ChildGroup::resend_orders() {
    for (auto& child : children_) child->resend_orders();
}

void ChildGroup::kill() {
    for (auto& child : children_) child->kill();
}

Child* ChildGroup::with_pid(pid_t pid) const {
    const auto found = std::ranges::find(children_, pid, [](const auto& child) { return child->pid(); });
    return found == children_.end() ? nullptr : found->get();
}

bool ChildGroup::all_ready(std::uint64_t generation) const {
    return std::ranges::all_of(children_, [&](const auto& child) {
        return child->state() == Child::State::ready && child->generation() == generation;
    });
}

bool ChildGroup::any_behind(std::uint64_t generation) const {
    return std::ranges::any_of(children_, [&](const auto& child) {
        return child->state() == Child::State::ready && child->generation() != generation;
    });
}

std::string ChildGroup::unready_names(std::uint64_t generation) const {
    std::string names;
    for (const auto& child : children_) {
        if (child->state() == Child::State::ready && child->generation() == generation) continue;
        names += fmt::format("{}{}", names.empty() ? "" : ", ", child->name());
        if (!child->problem().empty()) names += " (" + child->problem() + ")";
    }
    return names;
}

std::string ChildGroup::alive_names() const {
    std::string names;
    for (const auto& child : children_)
        if (child->alive()) names += (names.empty() ? "" : ", ") + child->name();
    return names;
}

bool ChildGroup::other_roles_answer(const Child& child) const {
    return std::ranges::none_of(children_, [&](const auto& each) {
        return each->alive() && each->plan().role != child.plan().role && each->unanswered() >= 2;
    });
}

} // namespace master
