#include "daemons/metrics/http_server.h"
#include "daemons/common/runtime/timer.h"
#include "daemons/common/runtime/uv_handle.h"
#include <algorithm>
#include <cstring>
#include <microhttpd.h>
#include <string_view>
#include <vector>

namespace metrics {

using namespace std::chrono_literals;

namespace {

constexpr std::string_view hint =
    "The metrics of Postrider for Prometheus are at /metrics, probes at /healthz and /readyz.\n";
constexpr std::size_t connection_memory = 16 * 1024; // headers of a request and of its answer

struct Answer {
    unsigned status;
    std::string_view text, type;
    const char* allow = nullptr;
};

MHD_Result reply(MHD_Connection* connection, const Answer& answer) {
    auto* response = MHD_create_response_from_buffer(answer.text.size(), const_cast<char*>(answer.text.data()),
                                                     MHD_RESPMEM_MUST_COPY);
    if (!response) return MHD_NO;
    MHD_add_response_header(response, "Content-Type", std::string(answer.type).c_str());
    if (answer.allow) MHD_add_response_header(response, "Allow", answer.allow);
    const auto done = MHD_queue_response(connection, answer.status, response);
    MHD_destroy_response(response);
    return done;
}

} // namespace

struct HttpServer::Server {
    // One request that waits for its page, or has it.
    struct Waiting {
        MHD_Connection* connection = nullptr; // suspended while it waits
        Pages::const_iterator of;
        bool asked = false, answered = false;
        Page page;
    };

    Server(common::Loop& loop, Pages pages, Collect collect)
        : loop(loop), pages(std::move(pages)), collect(std::move(collect)), timer(loop, [this] { run(); }),
          turn(loop, [this] { run(); }) {}
    ~Server() {
        poll.reset();
        if (!daemon) return;
        for (auto* each : waiting) MHD_resume_connection(each->connection);
        // The socket is master's, too: only our descriptor of it is closed.
        const common::Fd listening(MHD_quiesce_daemon(daemon));
        MHD_stop_daemon(daemon);
    }

    void run() {
        MHD_run(daemon);
        MHD_UNSIGNED_LONG_LONG milliseconds = 0;
        if (MHD_get_timeout(daemon, &milliseconds) == MHD_YES)
            timer.start(std::chrono::milliseconds(std::min<MHD_UNSIGNED_LONG_LONG>(milliseconds, 60'000)));
        else
            timer.stop();
    }

    MHD_Result handle(MHD_Connection* connection, std::string_view path, std::string_view method,
                      std::size_t* upload_size, void** context) {
        constexpr std::string_view plain = "text/plain; charset=utf-8";
        if (!*context) { // only the header is there
            *context = new Waiting;
            return MHD_YES;
        }
        if (*upload_size > 0) { // an unexpected body
            *upload_size = 0;
            return MHD_YES;
        }
        auto& request = *static_cast<Waiting*>(*context);
        if (method != "GET" && method != "HEAD")
            return reply(connection, {MHD_HTTP_METHOD_NOT_ALLOWED, "Only GET is served here.\n", plain, "GET, HEAD"});
        if (path == "/") return reply(connection, {MHD_HTTP_OK, hint, plain});
        const auto found = pages.find(path);
        if (found == pages.end()) return reply(connection, {MHD_HTTP_NOT_FOUND, hint, plain});
        if (request.answered) return reply(connection, {request.page.status, request.page.text, request.page.type});
        if (request.asked) return MHD_YES;
        request.asked = true;
        request.of = found;
        request.connection = connection;
        MHD_suspend_connection(connection);
        waiting.push_back(&request);
        loop.defer([this, alive = std::weak_ptr(life)] {
            if (!alive.expired()) ask_once();
        });
        return MHD_YES;
    }

    // Any number of waiting requests: one collection for all of them, and each page is made once.
    void ask_once() {
        if (asking || waiting.empty()) return;
        asking = true;
        collect([this, alive = std::weak_ptr(life)] {
            if (alive.expired()) return;
            asking = false;
            std::map<std::string_view, Page> made;
            for (auto* each : std::exchange(waiting, {})) {
                const auto& [path, make] = *each->of;
                auto page = made.find(path);
                if (page == made.end()) page = made.emplace(path, make()).first;
                each->answered = true;
                each->page = page->second;
                MHD_resume_connection(each->connection);
            }
            turn.schedule();
        });
    }

    void over(void** context) {
        auto* request = static_cast<Waiting*>(*context);
        std::erase(waiting, request);
        delete request;
        *context = nullptr;
    }

    common::Loop& loop;
    const Pages pages;
    Collect collect;
    MHD_Daemon* daemon = nullptr;
    common::Handle<uv_poll_t> poll;
    common::Timer timer;
    common::TurnHook turn;
    std::vector<Waiting*> waiting;
    bool asking = false;
    std::shared_ptr<int> life = std::make_shared<int>();
};

HttpServer::HttpServer(std::unique_ptr<Server> server) : server_(std::move(server)) {}
HttpServer::~HttpServer() = default;

spool::Result<std::unique_ptr<HttpServer>> HttpServer::open(common::Loop& loop, common::Fd fd, Pages pages,
                                                            Collect collect) {
    auto server = std::make_unique<Server>(loop, std::move(pages), std::move(collect));
    const auto handle = [](void* self, MHD_Connection* connection, const char* path, const char* method, const char*,
                           const char*, std::size_t* upload_size, void** context) -> MHD_Result {
        return static_cast<Server*>(self)->handle(connection, path, method, upload_size, context);
    };
    const auto over = [](void* self, MHD_Connection*, void** context, MHD_RequestTerminationCode) {
        static_cast<Server*>(self)->over(context);
    };
    server->daemon = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, nullptr, nullptr, static_cast<MHD_AccessHandlerCallback>(handle),
        server.get(), MHD_OPTION_LISTEN_SOCKET, static_cast<MHD_socket>(fd.number()), MHD_OPTION_CONNECTION_LIMIT,
        max_connections, MHD_OPTION_CONNECTION_TIMEOUT, patience_seconds, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        connection_memory, MHD_OPTION_NOTIFY_COMPLETED, static_cast<MHD_RequestCompletedCallback>(over), server.get(),
        MHD_OPTION_END);
    if (!server->daemon) return std::unexpected(spool::Error::from_errno("start the HTTP server"));
    static_cast<void>(fd.release());
    const auto* facts = MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    if (facts) server->poll = common::make_poll(loop.uv(), server.get(), facts->epoll_fd);
    if (!server->poll) return std::unexpected(spool::Error{0, "the HTTP server cannot be polled"});
    uv_poll_start(server->poll.get(), UV_READABLE, [](uv_poll_t* poll, int, int) {
        if (auto* self = common::owner_of<Server>(poll)) self->run();
    });
    return std::unique_ptr<HttpServer>(new HttpServer(std::move(server)));
}

} // namespace metrics
