#include "daemons/decide/verification/probe_admission.h"
#include <algorithm>
#include <utility>

namespace decide::verification {

bool ProbeAdmission::begin_check(const std::string& address) {
    if (checks_.size() >= limits_.addresses) return false;
    return checks_.emplace(address, Check{}).second;
}

bool ProbeAdmission::may_begin(const Link& link, smtp::Monotonic now) const {
    return !link.busy && probes_ < limits_.probes && ready_at(link) <= now;
}

void ProbeAdmission::begin(Check& check, Link& link, smtp::Monotonic now) {
    check.at_server = link.busy = true;
    link.next = std::max(link.next, now) + interval();
    ++probes_;
}

bool ProbeAdmission::others_ready(smtp::Monotonic now) const {
    return std::ranges::any_of(turns_, [&](const Link* link) { return may_begin(*link, now); });
}

ProbeAdmission::Verdict ProbeAdmission::admit(const std::string& address, std::string_view name, smtp::Monotonic now) {
    const auto at = checks_.find(address);
    if (at == checks_.end() || !at->second.link.empty()) return Verdict::refuse;
    const auto refuse = [&] {
        checks_.erase(at);
        return Verdict::refuse;
    };
    auto found = links_.find(name);
    if (found == links_.end()) {
        if (links_.size() >= limits_.links)
            std::erase_if(links_, [&](const auto& each) { return each.second.idle(now); });
        if (links_.size() >= limits_.links) return refuse();
        found = links_.emplace(name, Link{}).first;
    }
    auto& link = found->second;
    if (now < link.rests) return refuse();
    if (link.waiting.empty() && may_begin(link, now) && !others_ready(now)) {
        at->second.link = name;
        begin(at->second, link, now);
        return Verdict::begin;
    }
    if (link.waiting.size() >= limits_.waiting_for_link) return refuse();
    at->second.link = name;
    if (link.waiting.empty() && !link.busy) turns_.push_back(&link);
    link.waiting.push_back(address);
    return Verdict::wait;
}

std::vector<std::string> ProbeAdmission::next(smtp::Monotonic now) {
    std::vector<std::string> out;
    for (auto at = turns_.begin(); at != turns_.end() && probes_ < limits_.probes;) {
        auto& link = **at;
        if (!may_begin(link, now)) { // for its rate
            ++at;
            continue;
        }
        at = turns_.erase(at);
        auto address = std::move(link.waiting.front());
        link.waiting.pop_front();
        begin(checks_.at(address), link, now);
        out.push_back(std::move(address));
    }
    return out;
}

std::optional<smtp::Monotonic> ProbeAdmission::wake() const {
    std::optional<smtp::Monotonic> out;
    if (probes_ >= limits_.probes) return out; // the end of a probe is what they wait for
    for (const auto* link : turns_) out = std::min(out.value_or(ready_at(*link)), ready_at(*link));
    return out;
}

std::vector<std::string> ProbeAdmission::close(const std::string& address, LinkState state, smtp::Monotonic now) {
    std::vector<std::string> out;
    const auto check = checks_.extract(address);
    if (!check || check.mapped().link.empty()) return out;
    auto& link = links_.find(check.mapped().link)->second;
    if (!check.mapped().at_server) {
        std::erase(link.waiting, address);
        if (link.waiting.empty()) turns_.remove(&link);
        return out;
    }
    --probes_;
    link.busy = false;
    if (state == LinkState::answers) {
        if (!link.waiting.empty()) turns_.push_back(&link);
        return out;
    }
    link.rests = now + limits_.rest;
    out.assign(std::make_move_iterator(link.waiting.begin()), std::make_move_iterator(link.waiting.end()));
    link.waiting.clear();
    for (const auto& each : out) checks_.erase(each);
    return out;
}

} // namespace decide::verification
