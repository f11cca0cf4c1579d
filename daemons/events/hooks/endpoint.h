// Where the events of a hook go: one request at a time, on the loop.
#pragma once
#include "daemons/decide/hooks/hook_delivery.h"
#include "daemons/decide/hooks/verdict.h"
#include <deque>
#include <functional>
#include <string>

namespace events {

class Endpoint {
public:
    struct Callbacks {
        // For the request under way, once, from a later turn of the loop.
        std::function<void(const decide::hooks::EndpointAnswer&)> answered;
        // Its events up to that number are accepted. False: there is no such event in it.
        std::function<bool(std::uint64_t number)> acknowledged;
    };
    virtual ~Endpoint() = default;
    // The first `count` events, as they are at this moment. The request before is answered or cancelled.
    virtual void send(const std::deque<decide::hooks::HookEvent>& events, std::size_t count) = 0;
    // There is no callback after it.
    virtual void cancel() = 0;
    // Sends an event hook.test, whatever else is under way. `done` is called once, or never if this is destroyed.
    // False: there is no such thing for this kind of endpoint.
    using TestDone = std::function<void(const decide::hooks::EndpointAnswer&)>;
    virtual bool test(const std::string& who, TestDone done) = 0;
};

} // namespace events
