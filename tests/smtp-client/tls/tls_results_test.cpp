// What came of TLS is told in parts: no batch is too long for a message, whatever domains and records it names.
#include "daemons/common/ipc/listener.h"
#include "daemons/smtp-client/tls/tls_results.h"
#include "tests/common/ipc/fake_queue_manager.h"

using namespace smtp_client;
using proto::Role;
using Message = proto::tls_results::Message;

TEST_CASE("a thousand outcomes with records of the longest kind arrive, all on one connection") {
    fake::Premises premises{Role::smtp_client};
    std::unique_ptr<ipc::Channel<Message>> peer;
    int connections = 0, messages = 0;
    std::uint64_t sessions = 0;
    ipc::Listener listener(premises.loop, premises.log, premises.listen("router"),
                           ipc::ExpectedTokens{"key", {Role::smtp_client}});
    listener.serve<Message>(proto::tls_results::conversation, {Role::smtp_client},
                            [&](ipc::Peer, std::unique_ptr<ipc::Channel<Message>> channel) {
                                ++connections;
                                peer = std::move(channel);
                                peer->set_callbacks({[&](Message&& message) {
                                                         ++messages;
                                                         for (const auto& each :
                                                              std::get<proto::tls_results::Results>(message).results)
                                                             sessions += each.sessions;
                                                     },
                                                     [](const std::string& why) { FAIL(why); }});
                            });
    const ipc::Identity identity{Role::smtp_client, 0, {{"router", ipc::token_of("key", Role::smtp_client, 0)}}};
    TlsResults results(premises.loop, premises.log, premises.context().run_directory, identity);
    decide::TlsOutcome outcome;
    outcome.records.assign(20, "3 1 1 " + std::string(1000, 'A'));
    outcome.reason.assign(512, 'x');
    for (std::size_t n = 0; n < TlsResults::max_pending; ++n) {
        outcome.domain = std::to_string(n) + std::string(240, 'd');
        results.add(outcome);
    }
    results.add(outcome); // the last one again
    while (sessions < TlsResults::max_pending + 1) {
        if (peer) results.flush();
        uv_run(&premises.loop.uv(), UV_RUN_ONCE);
    }
    CHECK(connections == 1);
    CHECK(messages > 100); // 20 MB, in parts
}
