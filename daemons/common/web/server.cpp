#include "daemons/common/web/server.h"
#include "daemons/common/runtime/timer.h"
#include "daemons/common/runtime/uv_handle.h"
#include "daemons/common/web/client_counts.h"
#include "daemons/common/web/framing.h"
#include "daemons/common/web/target.h"
#include <algorithm>
#include <cstring>
#include <microhttpd.h>
#include <netinet/in.h>
#include <optional>
#include <set>
#include <string_view>
#include <sys/socket.h>
#include <vector>

namespace web {

using namespace std::chrono_literals;

namespace {

constexpr unsigned bad_request = 400, too_large = 413, uri_too_long = 414, too_many = 429, unavailable = 503;
constexpr std::size_t stream_block = 16 * 1024;

// Of GnuTLS.
constexpr const char *tls_1_2_or_1_3 = "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2",
                     *tls_1_3 = "NORMAL:-VERS-ALL:+VERS-TLS1.3";

// The library only reads it.
MHD_OptionItem text_option(MHD_OPTION option, const char* text) { return {option, 0, const_cast<char*>(text)}; }

std::string lower(std::string_view text) {
    std::string out(text);
    std::ranges::transform(out, out.begin(),
                           [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; });
    return out;
}

int socket_of(MHD_Connection* connection) {
    const auto* info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info ? info->connect_fd : -1;
}

Client client_of(MHD_Connection* connection) {
    Client client;
    const auto* info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    const auto* address = info ? info->client_addr : nullptr;
    if (auto known = common::IpAddress::of(address))
        client.address = *known;
    else if (auto user = common::peer_credentials(socket_of(connection)))
        client.user = *std::move(user);
    return client;
}

MHD_Result queue(MHD_Connection* connection, unsigned status, MHD_Response* response, const Response& from) {
    if (!response) return MHD_NO;
    if (!from.type.empty()) MHD_add_response_header(response, "Content-Type", from.type.c_str());
    for (const auto& [name, value] : from.headers) MHD_add_response_header(response, name.c_str(), value.c_str());
    const auto done = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return done;
}

} // namespace

struct Server::Daemon {
    // A connection's time limit.
    struct Connection {
        Connection(Daemon& daemon, MHD_Connection* handle)
            : socket(socket_of(handle)), deadline(daemon.deadlines, [this] { cut(); }) {}
        // The library sees the end of it.
        void cut() const { ::shutdown(socket, SHUT_RDWR); }
        void allow(smtp::Duration within) { deadline.set(common::Loop::now().monotonic + within); }
        int socket;
        common::Deadline deadline;
        std::optional<common::IpAddress> client;
    };

    // A request from its first line to the end of its answer.
    struct Pending {
        Pending(Daemon& daemon, std::string target) : daemon(&daemon), target(std::move(target)) {}
        Daemon* daemon;
        std::string target;
        bool begun = false, asked = false, queued = false, suspended = false;
        std::uint64_t limit = 0, reserved = 0;
        std::uint64_t received = 0;
        unsigned overflow = 0; // status: the rest of the body is dropped
        smtp::Monotonic since{};
        Request request;
        MHD_Connection* connection = nullptr;
        std::shared_ptr<Exchange> exchange;
        std::optional<Response> rejection; // after a delay
        std::optional<common::Deadline> delay;
        common::Handle<uv_poll_t> hangup; // while a handler wants to know whether the client is still there
    };

    Daemon(common::Loop& loop, Handler& handler, BodyMemory& memory, const ServerLimits& limits)
        : loop(loop), handler(handler), memory(memory), limits(limits), deadlines(loop), timer(loop, [this] { run(); }),
          turn(loop, [this] { run(); }) {}
    ~Daemon() {
        poll.reset();
        if (!mhd) return;
        for (auto* each : pending) {
            if (each->exchange) each->exchange->leave(false);
            resume(*each);
        }
        close();
        MHD_stop_daemon(mhd);
    }

    void close() {
        if (std::exchange(closed, true)) return;
        // The socket is master's, too: only our descriptor of it is closed.
        const common::Fd listening(MHD_quiesce_daemon(mhd));
    }

    void run() {
        MHD_run(mhd);
        MHD_UNSIGNED_LONG_LONG milliseconds = 0;
        if (MHD_get_timeout(mhd, &milliseconds) == MHD_YES)
            timer.start(std::chrono::milliseconds(std::min<MHD_UNSIGNED_LONG_LONG>(milliseconds, 60'000)));
        else
            timer.stop();
    }

    static Connection& connection_of(MHD_Connection* handle) {
        const auto* info = MHD_get_connection_info(handle, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
        return *static_cast<Connection*>(info->socket_context);
    }

    smtp::Duration time_for(std::uint64_t bytes) const {
        return limits.grace + std::chrono::seconds(bytes / limits.bytes_per_second);
    }

    MHD_Result answer_now(Pending& request, MHD_Connection* handle, Response response) {
        request.queued = true;
        response.headers.emplace_back("Connection", "close");
        connection_of(handle).allow(time_for(response.body.size()));
        return queue(handle, response.status,
                     MHD_create_response_from_buffer(response.body.size(), response.body.data(), MHD_RESPMEM_MUST_COPY),
                     response);
    }

    // The header is complete.
    MHD_Result begin(Pending& request, MHD_Connection* handle, const char* method) {
        request.begun = true;
        request.connection = handle;
        request.since = common::Loop::now().monotonic;
        auto& parsed = request.request;
        MHD_get_connection_values_n(
            handle, MHD_HEADER_KIND,
            [](void* fields, MHD_ValueKind, const char* name, std::size_t name_size, const char* value,
               std::size_t value_size) -> MHD_Result {
                static_cast<Fields*>(fields)->emplace_back(lower({name, name_size}),
                                                           std::string(value ? value : "", value ? value_size : 0));
                return MHD_YES;
            },
            &parsed.headers);
        parsed.method = method;
        auto target = parse_target(request.target);
        if (!target)
            return answer_now(
                request, handle,
                handler.reject(request.target.size() > longest_target ? uri_too_long : bad_request, target.error()));
        parsed.path = std::move(target->path);
        parsed.segments = std::move(target->segments);
        parsed.parameters = std::move(target->parameters);
        parsed.client = client_of(handle);
        const auto framing = framing_of(parsed.headers);
        if (!framing) return answer_now(request, handle, handler.reject(bad_request, framing.error()));
        auto allowed = handler.begin(parsed);
        if (!allowed) return reject(request, handle, std::move(allowed.error()));
        request.limit = *allowed;
        const auto length = framing->length.value_or(0);
        if (length > request.limit)
            return answer_now(request, handle,
                              handler.reject(too_large, "the body is larger than " + std::to_string(request.limit) +
                                                            " bytes, which is the limit here"));
        if (!memory.take(length)) return answer_now(request, handle, no_memory());
        request.reserved = length;
        parsed.body.reserve(static_cast<std::size_t>(length));
        connection_of(handle).allow(limits.grace);
        return MHD_YES;
    }

    MHD_Result reject(Pending& request, MHD_Connection* handle, Rejection rejection) {
        if (rejection.delay == smtp::Duration::zero())
            return answer_now(request, handle, std::move(rejection.response));
        if (delayed >= most_delayed)
            return answer_now(request, handle, this->handler.reject(too_many, "too many requests were rejected"));
        ++delayed;
        connection_of(handle).deadline.clear();
        request.rejection = std::move(rejection.response);
        request.delay.emplace(deadlines, [this, &request] { wake(request); });
        request.delay->set(common::Loop::now().monotonic + rejection.delay);
        suspend(request);
        return MHD_YES;
    }

    Response no_memory() { return handler.reject(unavailable, "too many requests are being received"); }

    // A piece of the body. What does not fit is dropped, to be rejected at its end; too much of that ends the
    // connection.
    MHD_Result receive(Pending& request, MHD_Connection* handle, std::string_view bytes) {
        request.received += bytes.size();
        if (request.received > request.limit) {
            request.overflow = too_large;
            if (request.received > 2 * request.limit + (1 << 20)) return MHD_NO;
        }
        auto& body = request.request.body;
        if (const auto needed = body.size() + bytes.size();
            request.overflow == 0 && needed > request.reserved) { // chunked
            if (memory.take(needed - request.reserved))
                request.reserved = needed;
            else
                request.overflow = unavailable;
        }
        if (request.overflow == 0) body += bytes;
        auto& connection = connection_of(handle);
        connection.deadline.set(request.since + time_for(request.received));
        return MHD_YES;
    }

    MHD_Result handle(MHD_Connection* handle, const char* method, const char* upload, std::size_t* upload_size,
                      void** context) {
        if (!*context) return MHD_NO;
        auto& request = *static_cast<Pending*>(*context);
        if (!request.begun) return begin(request, handle, method);
        if (request.rejection && !request.queued) {
            *upload_size = 0;
            return answer_now(request, handle, *std::move(request.rejection));
        }
        if (*upload_size > 0) {
            const auto size = std::exchange(*upload_size, 0);
            return request.queued ? MHD_YES : receive(request, handle, {upload, size});
        }
        if (request.queued) return MHD_YES;
        if (request.overflow != 0)
            return answer_now(request, handle,
                              request.overflow == unavailable
                                  ? no_memory()
                                  : handler.reject(too_large, "the body is larger than " +
                                                                  std::to_string(request.limit) +
                                                                  " bytes, which is the limit here"));
        if (!request.asked) return ask(request, handle);
        if (request.exchange->gone()) return MHD_NO;
        if (request.exchange->answered()) return answer(request, handle);
        suspend(request); // resumed for another reason
        return MHD_YES;
    }

    MHD_Result ask(Pending& request, MHD_Connection* handle) {
        request.asked = true;
        connection_of(handle).deadline.clear();
        request.exchange = std::make_shared<Exchange>(
            std::move(request.request),
            Exchange::Wakers{[this, &request] { wake(request); }, [handle] { connection_of(handle).cut(); }});
        suspend(request);
        loop.defer([this, alive = std::weak_ptr(life), exchange = request.exchange, &request] {
            if (alive.expired() || exchange->gone()) return;
            handler.handle(exchange);
            if (!alive.expired() && !exchange->gone() && exchange->wants_to_know()) watch(request);
        });
        return MHD_YES;
    }

    // The library does not see the end of a connection that is suspended.
    void watch(Pending& request) {
        request.hangup = common::make_poll(loop.uv(), &request, connection_of(request.connection).socket);
        if (!request.hangup) return;
        uv_poll_start(request.hangup.get(), UV_DISCONNECT, [](uv_poll_t* poll, int, int) {
            if (auto* gone = common::owner_of<Pending>(poll)) gone->daemon->client_left(*gone);
        });
    }
    void client_left(Pending& request) {
        request.hangup.reset();
        request.exchange->leave(false);
        connection_of(request.connection).cut();
        wake(request);
    }

    MHD_Result answer(Pending& request, MHD_Connection* handle) {
        request.queued = true;
        auto& response = request.exchange->response();
        if (!request.exchange->streams()) {
            connection_of(handle).allow(time_for(response.body.size()));
            return queue(
                handle, response.status,
                MHD_create_response_from_buffer(response.body.size(), response.body.data(), MHD_RESPMEM_MUST_COPY),
                response);
        }
        const auto read = [](void* self, std::uint64_t, char* into, std::size_t size) -> ssize_t {
            auto& one = *static_cast<Pending*>(self);
            if (const auto n = one.exchange->take(into, size); n > 0) {
                one.daemon->tell_drained(one.exchange);
                return static_cast<ssize_t>(n);
            }
            if (one.exchange->gone()) return MHD_CONTENT_READER_END_WITH_ERROR;
            if (one.exchange->ended()) return MHD_CONTENT_READER_END_OF_STREAM;
            suspend(one);
            return 0;
        };
        return queue(handle, response.status,
                     MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, stream_block,
                                                       static_cast<MHD_ContentReaderCallback>(read), &request, nullptr),
                     response);
    }

    void tell_drained(const std::shared_ptr<Exchange>& exchange) {
        if (exchange->unread() == 0 && exchange->wants_drained()) loop.defer([exchange] { exchange->drained(); });
    }

    static void suspend(Pending& request) {
        if (std::exchange(request.suspended, true)) return;
        MHD_suspend_connection(request.connection);
    }
    static void resume(Pending& request) {
        if (std::exchange(request.suspended, false)) MHD_resume_connection(request.connection);
    }
    void wake(Pending& request) {
        resume(request);
        turn.schedule();
    }

    void over(MHD_Connection* handle, void** context, MHD_RequestTerminationCode how) {
        auto* request = static_cast<Pending*>(*context);
        *context = nullptr;
        if (!request) return;
        pending.erase(request);
        memory.give_back(request->reserved);
        if (request->delay) --delayed;
        if (request->exchange) request->exchange->leave(how == MHD_REQUEST_TERMINATED_COMPLETED_OK);
        delete request;
        if (const auto* info = MHD_get_connection_info(handle, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
            info && info->socket_context)
            static_cast<Connection*>(info->socket_context)->allow(limits.idle);
    }

    common::Loop& loop;
    Handler& handler;
    BodyMemory& memory;
    const ServerLimits limits;
    common::LoopDeadlines deadlines;
    ClientCounts clients{limits.per_client};
    MHD_Daemon* mhd = nullptr;
    common::Handle<uv_poll_t> poll;
    common::Timer timer;
    common::TurnHook turn;
    std::set<Pending*> pending;
    std::size_t delayed = 0;
    bool closed = false;
    std::shared_ptr<int> life = std::make_shared<int>();
};

Server::Server(std::unique_ptr<Daemon> daemon) : daemon_(std::move(daemon)) {}
Server::~Server() = default;

void Server::close() { daemon_->close(); }

std::size_t Server::open_requests() const { return daemon_->pending.size(); }

spool::Result<std::unique_ptr<Server>> Server::open(common::Loop& loop, common::Fd fd, Handler& handler,
                                                    BodyMemory& memory, const ServerLimits& limits,
                                                    const Certificate& certificate) {
    auto daemon = std::make_unique<Daemon>(loop, handler, memory, limits);
    const auto first_line = [](void* self, const char* target, MHD_Connection*) -> void* {
        auto& daemon = *static_cast<Daemon*>(self);
        auto* request = new Daemon::Pending(daemon, target);
        daemon.pending.insert(request);
        return request;
    };
    const auto handle = [](void* self, MHD_Connection* connection, const char*, const char* method, const char*,
                           const char* upload, std::size_t* upload_size, void** context) -> MHD_Result {
        return static_cast<Daemon*>(self)->handle(connection, method, upload, upload_size, context);
    };
    const auto over = [](void* self, MHD_Connection* connection, void** context, MHD_RequestTerminationCode how) {
        static_cast<Daemon*>(self)->over(connection, context, how);
    };
    const auto connected = [](void* self, MHD_Connection* connection, void** context,
                              MHD_ConnectionNotificationCode what) {
        auto& daemon = *static_cast<Daemon*>(self);
        if (what == MHD_CONNECTION_NOTIFY_STARTED) {
            auto* made = new Daemon::Connection(daemon, connection);
            if ((made->client = client_of(connection).address)) daemon.clients.add(*made->client);
            made->allow(daemon.limits.header);
            *context = made;
        } else {
            const std::unique_ptr<Daemon::Connection> gone(static_cast<Daemon::Connection*>(*context));
            if (gone && gone->client) daemon.clients.remove(*gone->client);
            *context = nullptr;
        }
    };
    const auto may_connect = [](void* self, const sockaddr* address, socklen_t) -> MHD_Result {
        const auto client = common::IpAddress::of(address);
        return !client || static_cast<Daemon*>(self)->clients.has_room(*client) ? MHD_YES : MHD_NO;
    };
    const auto as_sent = [](void*, MHD_Connection*, char* text) -> std::size_t { return std::strlen(text); };
    const auto idle = static_cast<unsigned>(std::chrono::ceil<std::chrono::seconds>(limits.idle).count());
    const bool tls = !certificate.chain.empty();
    std::vector<MHD_OptionItem> encryption;
    if (tls)
        encryption = {text_option(MHD_OPTION_HTTPS_MEM_CERT, certificate.chain.c_str()),
                      text_option(MHD_OPTION_HTTPS_MEM_KEY, certificate.key.c_str()),
                      text_option(MHD_OPTION_HTTPS_PRIORITIES, certificate.only_tls_1_3 ? tls_1_3 : tls_1_2_or_1_3)};
    encryption.push_back(text_option(MHD_OPTION_END, nullptr));
    daemon->mhd = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | (tls ? MHD_USE_TLS : 0), 0,
        static_cast<MHD_AcceptPolicyCallback>(may_connect), daemon.get(),
        static_cast<MHD_AccessHandlerCallback>(handle), daemon.get(), MHD_OPTION_LISTEN_SOCKET,
        static_cast<MHD_socket>(fd.number()), MHD_OPTION_CONNECTION_LIMIT, limits.connections,
        MHD_OPTION_CONNECTION_TIMEOUT, idle, MHD_OPTION_CONNECTION_MEMORY_LIMIT, header_memory,
        MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_NOTIFY_COMPLETED, static_cast<MHD_RequestCompletedCallback>(over),
        daemon.get(), MHD_OPTION_NOTIFY_CONNECTION, static_cast<MHD_NotifyConnectionCallback>(connected), daemon.get(),
        MHD_OPTION_URI_LOG_CALLBACK, static_cast<void* (*)(void*, const char*, MHD_Connection*)>(first_line),
        daemon.get(), MHD_OPTION_UNESCAPE_CALLBACK,
        static_cast<std::size_t (*)(void*, MHD_Connection*, char*)>(as_sent), nullptr, MHD_OPTION_ARRAY,
        encryption.data(), MHD_OPTION_END);
    if (!daemon->mhd && tls)
        return std::unexpected(
            spool::Error{0, "start the HTTP server: GnuTLS does not take the certificate or its key"});
    if (!daemon->mhd) return std::unexpected(spool::Error::from_errno("start the HTTP server"));
    static_cast<void>(fd.release());
    const auto* facts = MHD_get_daemon_info(daemon->mhd, MHD_DAEMON_INFO_EPOLL_FD);
    if (facts) daemon->poll = common::make_poll(loop.uv(), daemon.get(), facts->epoll_fd);
    if (!daemon->poll) return std::unexpected(spool::Error{0, "the HTTP server cannot be polled"});
    uv_poll_start(daemon->poll.get(), UV_READABLE, [](uv_poll_t* poll, int, int) {
        if (auto* self = common::owner_of<Daemon>(poll)) self->run();
    });
    return std::unique_ptr<Server>(new Server(std::move(daemon)));
}

} // namespace web
