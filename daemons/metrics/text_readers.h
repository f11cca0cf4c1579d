// The metrics' text for http, which passes it on to clients of the API (proto/metrics_text.h): as it is served here.
#pragma once
#include "daemons/common/ipc/channel.h"
#include "daemons/common/proto/metrics_text.h"
#include "daemons/common/runtime/loop.h"
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

namespace metrics {

class TextReaders {
public:
    using Channel = ipc::Channel<proto::metrics_text::Message>;
    // Calls back in a later turn of the loop, once, when the metrics are up to date.
    using Collect = std::function<void(std::function<void()>)>;
    static constexpr std::size_t most = 8; // connections

    TextReaders(common::Loop& loop, Collect collect, std::function<std::string()> text)
        : loop_(loop), collect_(std::move(collect)), text_(std::move(text)) {}
    TextReaders(const TextReaders&) = delete;

    void attach(std::unique_ptr<Channel> channel);

private:
    struct Reader {
        std::unique_ptr<Channel> channel;
        bool asked = false;
    };
    void take(std::uint64_t number, const proto::metrics_text::Message& message);
    void answer(std::uint64_t number);
    void forget(std::uint64_t number);

    common::Loop& loop_;
    Collect collect_;
    std::function<std::string()> text_;
    std::uint64_t last_ = 0;
    std::map<std::uint64_t, Reader> readers_;
    std::shared_ptr<int> life_ = std::make_shared<int>();
};

} // namespace metrics
