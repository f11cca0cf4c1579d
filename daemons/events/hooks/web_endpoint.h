// A web server that events are sent to. Knows how requests are made and what answers look like, not what they mean.
#pragma once
#include "daemons/common/config/sections/system/hook.h"
#include "daemons/common/crypto/webhook/signing.h"
#include "daemons/common/net/https.h"
#include "daemons/common/net/web_address.h"
#include "daemons/events/hooks/endpoint.h"
#include <memory>
#include <string>

namespace events {

class WebEndpoint final : public Endpoint {
public:
    struct Settings {
        config::Hook hook;
        webhook::Secrets secrets;
        std::string authorities; // PEM
        std::string node;
    };
    WebEndpoint(common::Loop& loop, Settings settings, Callbacks callbacks);

    void send(const std::deque<decide::hooks::HookEvent>& events, std::size_t count) override;
    void cancel() override { exchange_.reset(); }
    bool test(const std::string& who, TestDone done) override;

private:
    common::Https::Request request_with(std::string body, std::vector<std::string> fields) const;

    Settings settings_;
    common::WebAddress address_;
    Callbacks callbacks_;
    common::Https https_;
    std::unique_ptr<common::Https::Exchange> exchange_, test_;
};

} // namespace events
