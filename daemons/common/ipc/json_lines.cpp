#include "daemons/common/ipc/json_lines.h"
#include "daemons/common/net/stream_writer.h"
#include "daemons/common/runtime/uv_handle.h"
#include <cstring>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <sys/socket.h>
#include <utility>

namespace ipc {

using namespace std::chrono_literals;
using nlohmann::json;

namespace {

std::string text_of(const json& value) { return value.dump(-1, ' ', false, json::error_handler_t::replace); }

// A field of that name is not logged: it may hold passwords.
constexpr std::string_view unlogged = "configuration";

} // namespace

std::string text_of_request(const json& body) {
    std::string text = body.value("op", "");
    for (const auto& [key, value] : body.items())
        if (key != "op" && key != "version" && key != unlogged)
            text += fmt::format(" {}={}", key, value.is_string() ? value.get<std::string>() : text_of(value));
    return text;
}

// One client: reads a line, has it answered, reads the next.
class JsonServer::Session {
public:
    Session(JsonServer& server, std::uint64_t number, common::Fd fd, common::Credentials credentials)
        : server_(server), number_(number), credentials_(credentials),
          pipe_(common::make_pipe(server.loop_.uv(), this)), hook_(server.loop_, [this] { end_turn(); }),
          timeout_(server.loop_, [this] { see_progress(); }), writer_([this](int status) { written(status); }) {
        if (uv_pipe_open(pipe_.get(), fd.number()) == 0)
            (void)fd.release();
        else
            gone_ = true;
        hook_.schedule();
    }

    const common::Credentials& credentials() const { return credentials_; }
    bool gone() const { return gone_; }
    bool congested() const { return writer_.unsent() > high_water; }
    void on_writable(std::function<void()> room) {
        room_ = std::move(room);
        hook_.schedule();
    }
    void on_disconnect(std::function<void()> left) {
        if (busy_) left_ = std::move(left);
    }
    std::function<void()> take_leave() { return std::exchange(left_, nullptr); }
    void send(const json& line) {
        if (gone_) return;
        writer_.pending().append(text_of(line)).push_back('\n');
        if (writer_.unsent() > max_unread) give_up("too much of its answer is unread");
        hook_.schedule();
    }
    void finish() {
        busy_ = false;
        room_ = left_ = nullptr;
        hook_.schedule();
    }
    // Reads nothing more from it; what was sent still goes out.
    void dismiss() {
        in_.clear();
        over_ = true;
    }
    // Writes, answers the next complete request if there is one, and continues to read.
    void end_turn() {
        flush();
        if (room_ && !congested() && !gone_) std::exchange(room_, nullptr)();
        if (gone_ || (over_ && !busy_ && writer_.unsent() == 0)) return server_.forget(number_);
        const auto newline = busy_ ? in_.npos : in_.find('\n');
        if (newline != in_.npos) {
            const std::string line = in_.substr(0, newline);
            in_.erase(0, newline + 1);
            busy_ = true;
            hook_.schedule();
            return server_.handle(*this, number_, line);
        }
        const bool full = in_.size() > max_request;
        if (full && !busy_) return server_.forget(number_);
        if (full || over_)
            uv_read_stop(stream_of(pipe_));
        else
            uv_read_start(stream_of(pipe_), on_alloc, on_read);
    }

private:
    static void on_alloc(uv_handle_t* handle, std::size_t, uv_buf_t* buffer) {
        auto* self = common::owner_of<Session>(handle);
        const auto space = self ? self->server_.loop_.read_buffer() : std::span<char>{};
        *buffer = uv_buf_init(space.data(), static_cast<unsigned>(space.size()));
    }
    static void on_read(uv_stream_t* stream, ssize_t n, const uv_buf_t* buffer) {
        auto* self = common::owner_of<Session>(stream);
        if (!self || n == 0) return;
        if (n > 0)
            self->in_.append(buffer->base, static_cast<std::size_t>(n));
        else if (n == UV_EOF)
            (self->has_hung_up() ? self->gone_ : self->over_) = true; // a half-closed client still gets its answer
        else
            self->gone_ = true;
        self->hook_.schedule();
    }
    // Has it closed its socket, rather than only ended its sending side?
    bool has_hung_up() const {
        pollfd look{-1, 0, 0};
        uv_fileno(reinterpret_cast<const uv_handle_t*>(pipe_.get()), &look.fd);
        return poll(&look, 1, 0) > 0 && (look.revents & POLLHUP) != 0;
    }
    void give_up(std::string_view why) {
        server_.log_.warning("control: the connection of uid={} was ended: {}", credentials_.uid, why);
        gone_ = true;
        writer_.pending() = {};
        hook_.schedule();
    }
    // While there is data to be written.
    void see_progress() {
        if (!writer_.writing() || gone_) return;
        const auto left = uv_stream_get_write_queue_size(stream_of(pipe_));
        if (left == std::exchange(unread_, left)) return give_up("no part of its answer was read for too long");
        timeout_.start(server_.timeout_);
    }
    void flush() {
        if (gone_ || writer_.writing() || writer_.unsent() == 0) return;
        unread_ = 0;
        timeout_.start(server_.timeout_);
        if (const int status = writer_.start(stream_of(pipe_)); status != 0) written(status);
    }
    void written(int status) {
        timeout_.stop();
        if (status < 0) gone_ = true;
        hook_.schedule();
    }

    JsonServer& server_;
    std::uint64_t number_;
    common::Credentials credentials_;
    common::Handle<uv_pipe_t> pipe_;
    common::TurnHook hook_;
    common::Timer timeout_;
    std::string in_;
    common::StreamWriter writer_;
    std::size_t unread_ = 0; // of what is being written, at the last check
    std::function<void()> room_, left_;
    bool busy_ = false; // a request is being answered
    bool over_ = false; // the client sends nothing more
    bool gone_ = false;
};

JsonServer::JsonServer(common::Loop& loop, common::Log& log, common::Fd fd, common::Operators operators,
                       Handler handler, smtp::Duration timeout)
    : loop_(loop), log_(log), operators_(operators), handler_(std::move(handler)), timeout_(timeout),
      acceptor_(loop, std::move(fd), [this](common::Fd socket) { admit(std::move(socket)); }) {}

JsonServer::~JsonServer() = default;

void JsonServer::admit(common::Fd socket) {
    const auto who = common::peer_credentials(socket.number());
    if (!who || sessions_.size() >= max_peers) return;
    const auto number = ++last_;
    sessions_.emplace(number, std::make_unique<Session>(*this, number, std::move(socket), *who));
}

JsonServer::Session* JsonServer::find(std::uint64_t peer) const {
    const auto found = sessions_.find(peer);
    return found == sessions_.end() || found->second->gone() ? nullptr : found->second.get();
}

void JsonServer::forget(std::uint64_t peer) {
    auto session = sessions_.extract(peer);
    const auto left = session.mapped()->take_leave();
    session = {};
    if (left) left();
}

void JsonServer::handle(Session& session, std::uint64_t peer, std::string_view line) {
    if (!operators_.includes(session.credentials())) {
        log_.warning("control: uid={} refused: neither root nor an operator", session.credentials().uid);
        refuse(peer, "only root and members of mta.admin_group may use this socket", "not-permitted");
        session.dismiss();
        return;
    }
    const auto body = json::parse(line, nullptr, false);
    if (!body.is_object()) {
        refuse(peer, "not a JSON object");
        return;
    }
    const auto version = body.find("version"), op = body.find("op");
    if (version == body.end() || *version != json_version) {
        refuse(peer, fmt::format("expected version {}: the command and the running programs are of different "
                                 "versions",
                                 json_version));
        return;
    }
    if (op == body.end() || !op->is_string()) {
        refuse(peer, "\"op\" is missing");
        return;
    }
    log_.info("control: uid={} {}", session.credentials().uid, text_of_request(body));
    try {
        handler_(Request{peer, session.credentials(), {}}, body);
    } catch (const json::exception& odd) { // a field of another type than the operation reads
        refuse(peer, fmt::format("invalid request: {}", odd.what()));
    }
}

bool JsonServer::send(std::uint64_t peer, const json& line) {
    auto* session = find(peer);
    if (session) session->send(line);
    return session != nullptr;
}

bool JsonServer::finish(std::uint64_t peer) {
    auto* session = find(peer);
    if (!session) return false;
    session->send({{"done", true}});
    session->finish();
    return true;
}

bool JsonServer::refuse(std::uint64_t peer, std::string_view error, std::string_view code) {
    auto* session = find(peer);
    if (!session) return false;
    session->send({{"done", true}, {"error", error}, {"code", code}});
    session->finish();
    return true;
}

bool JsonServer::congested(std::uint64_t peer) const {
    const auto* session = find(peer);
    return session && session->congested();
}

void JsonServer::on_writable(std::uint64_t peer, std::function<void()> room) {
    if (auto* session = find(peer)) session->on_writable(std::move(room));
}

void JsonServer::on_disconnect(std::uint64_t peer, std::function<void()> left) {
    if (auto* session = find(peer)) session->on_disconnect(std::move(left));
}

spool::Result<JsonClient> JsonClient::connect(const std::string& path) {
    return JsonClient(TRY(common::connect_local(path)));
}

spool::Result<> JsonClient::ask(const json& request, const std::function<void(const json&)>& on_line, int seconds) {
    json whole = request;
    whole["version"] = json_version;
    refusal_.clear();
    std::string out = text_of(whole) + "\n";
    const auto wait = [&](short events) {
        pollfd p{fd_.number(), events, 0};
        return poll(&p, 1, seconds * 1000);
    };
    while (!out.empty()) {
        const auto n = ::send(fd_.number(), out.data(), out.size(), MSG_NOSIGNAL);
        if (n > 0)
            out.erase(0, static_cast<std::size_t>(n));
        else if (n < 0 && errno != EAGAIN && errno != EINTR)
            return std::unexpected(spool::Error::from_errno("ask"));
        else if (wait(POLLOUT) == 0)
            return std::unexpected(spool::Error{ETIMEDOUT, "no answer"});
    }
    for (std::size_t looked = 0;;) {
        if (const auto newline = in_.find('\n', looked); newline != in_.npos) {
            const auto line =
                json::parse(in_.begin(), in_.begin() + static_cast<std::ptrdiff_t>(newline), nullptr, false);
            in_.erase(0, newline + 1);
            looked = 0;
            if (!line.is_object()) return std::unexpected(spool::Error{EPROTO, "invalid answer"});
            if (!line.contains("done")) {
                on_line(line);
                continue;
            }
            if (const auto error = line.find("error"); error != line.end() && error->is_string()) {
                refusal_ = line.value("code", "");
                return std::unexpected(spool::Error{0, error->get<std::string>()});
            }
            return {};
        }
        looked = in_.size();
        char space[16384];
        const auto n = recv(fd_.number(), space, sizeof space, 0);
        if (n > 0)
            in_.append(space, static_cast<std::size_t>(n));
        else if (n == 0)
            return std::unexpected(spool::Error{
                ECONNRESET, "the connection was closed before the answer: the command may have been carried out, "
                            "completely or in part"});
        else if (errno != EAGAIN && errno != EINTR)
            return std::unexpected(spool::Error::from_errno("read the answer"));
        else if (wait(POLLIN) == 0)
            return std::unexpected(spool::Error{ETIMEDOUT, "no answer"});
    }
}

} // namespace ipc
