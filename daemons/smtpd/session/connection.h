// One client: moves bytes between its ByteStream and its ServerSession, passes the session's events to the
// SessionHandler, and runs the session's deadline. Callbacks record what happened and call pump() last. Must
// not know any reply but 421.
#pragma once
#include "daemons/common/runtime/fd.h"
#include "daemons/common/runtime/timer.h"
#include "daemons/smtpd/access/byte_stream.h"
#include "daemons/smtpd/access/session_eviction.h"
#include "daemons/smtpd/policy/relay_policy.h"
#include "daemons/smtpd/policy/rules.h"
#include "daemons/smtpd/session/session_handler.h"
#include "daemons/smtpd/session/worker_context.h"
#include "libsmtp/session/server_session.h"
#include "libspool/message/content_memory.h"
#include <list>
#include <memory>
#include <string_view>

namespace smtpd {

class Connection final : private ByteStream::User, private SessionHandler::Driver {
public:
    // `worker` must outlive it. Null if the socket cannot be used.
    static std::unique_ptr<Connection> create(WorkerContext& worker, std::shared_ptr<const Rules> rules,
                                              common::Fd socket, Client client);
    Connection(const Connection&) = delete;

    // Once, when it has its place among the others.
    void begin();
    // 421, after the transaction or now. A message that is being committed is always waited for.
    void shut_down(smtp::ServerSession::When when);
    // Sessions run short, or do so no longer.
    void stress_changed();
    // Others need its place: 421, without waiting for the client to read it. Only if session_info() allows
    // it.
    void evict();
    SessionInfo session_info() const;
    // Bytes it holds beside content, if its client has been idle or slow; else 0.
    std::size_t idle_memory(smtp::Monotonic now) const;

    const Client& client() const { return handler_.client(); }
    // The network its session is counted for; "" if for none.
    const std::string& counted_network() const { return handler_.counted_network(); }

    std::list<std::unique_ptr<Connection>>::iterator place; // the owner's

private:
    Connection(WorkerContext& worker, std::shared_ptr<const Rules> rules, Client client);

    // Of the stream.
    void received(std::string_view bytes) override;
    void disconnected() override;
    void handshake_done() override { handler_.tls_established(*stream_.tls()); }
    void handshake_failed(std::string_view why) override;
    void decryption_failed(std::string_view why) override;
    void turn_over() override { pump(); }
    void closed() override { worker_.gone(*this); }
    // Of the handler.
    void resume() override { pump(); }
    void start_tls() override;

    void pump();
    bool flush(); // false: the client is gone
    void update_reading();
    void update_memory_share();
    void set_deadline();
    bool implicit_tls() const { return rules_->listener.tls == config::ListenerTls::implicit; }
    bool paused() const { return handler_.message() && handler_.message()->paused(); }

    WorkerContext& worker_;
    std::shared_ptr<const Rules> rules_;
    smtp::Monotonic last_activity_; // the last whole command or piece of content
    smtp::ServerSession session_;
    SessionHandler handler_;
    ByteStream stream_;
    common::Deadline deadline_;                       // the session's
    spool::ContentMemory::Share share_;               // the memory held here beside the content
    ByteStream::Last last_ = ByteStream::Last::close; // how it ends
    bool pumping_ = false, evicted_ = false;
};

} // namespace smtpd
