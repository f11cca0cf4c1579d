// The queue-manager's end of one conversation, for tests of the daemons that connect to it; and the
// context a daemon is built on, in a directory of their own.
#pragma once
#include "daemons/common/ipc/listener.h"
#include "daemons/common/net/local_socket.h"
#include "daemons/common/process/daemon.h"
#include "tests/temporary_directory.h"
#include <doctest/doctest.h>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace fake {

// Stands for master: a directory, a log nobody reads, an identity.
struct Premises {
    explicit Premises(proto::Role role) : log(loop, "test"), role_(role) {}

    common::DaemonContext context() {
        const auto token = ipc::token_of("key", role_, 0); // every server here has the same key
        return {loop,
                log,
                {role_, 0, {{"queue-manager", token}, {"local", token}}},
                directory + "/run",
                [this](std::string_view text) {
                    trouble = text;
                    if (trouble.empty()) loop.stop();
                }};
    }
    common::Fd listen(std::string_view name) {
        auto fd = common::listen_local(directory + "/run/private/" + std::string(name), 0600);
        REQUIRE(fd);
        return std::move(*fd);
    }

    common::Loop loop;
    common::Log log;
    TemporaryDirectory temporary{"run/private"};
    const std::string directory = temporary.path();
    std::string trouble;

private:
    proto::Role role_;
};

template <class Message> struct QueueManager {
    QueueManager(Premises& premises, std::string_view conversation, proto::Role role)
        : premises_(premises),
          listener_(premises.loop, premises.log, premises.listen("queue-manager"), ipc::ExpectedTokens{"key", {role}}) {
        listener_.serve<Message>(conversation, {role},
                                 [this](ipc::Peer, std::unique_ptr<ipc::Channel<Message>> channel) {
                                     channel_ = std::move(channel);
                                     channel_->set_callbacks({[this](Message&& message) {
                                                                  answers.push_back(std::move(message));
                                                                  premises_.loop.stop();
                                                              },
                                                              [](const std::string&) {}});
                                     premises_.loop.stop();
                                 });
    }
    void await_peer() {
        while (!channel_) premises_.loop.run();
    }
    // Asks, and runs until there is an answer of type A.
    template <class A, class Q> A ask(const Q& question) {
        static_cast<void>(channel_->send(question));
        return next<A>();
    }
    template <class A> A next() {
        while (answers.empty()) premises_.loop.run();
        REQUIRE(std::holds_alternative<A>(answers.front()));
        auto out = std::get<A>(std::move(answers.front()));
        answers.erase(answers.begin());
        return out;
    }
    ipc::Channel<Message>& channel() { return *channel_; }
    std::vector<Message> answers;

private:
    Premises& premises_;
    std::unique_ptr<ipc::Channel<Message>> channel_;
    ipc::Listener listener_;
};

} // namespace fake
