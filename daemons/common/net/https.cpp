#include "daemons/common/net/https.h"
#include <algorithm>
#include <cassert>
#include <curl/curl.h>
#include <fmt/format.h>

namespace common {

namespace {

constexpr std::size_t largest_header = 16 * 1024; // all lines of it

struct FreeEasy {
    void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
};
struct FreeList {
    void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

std::string media_type(const char* field) {
    std::string out;
    for (const char* at = field; at && *at && *at != ';' && *at != ' ' && *at != '\t'; ++at)
        out.push_back(*at >= 'A' && *at <= 'Z' ? static_cast<char>(*at + 32) : *at);
    return out;
}

Https::Failure failure_of(CURLcode code) {
    switch (code) {
    case CURLE_OK: return Https::Failure::none;
    case CURLE_OPERATION_TIMEDOUT: return Https::Failure::timeout;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_INVALIDCERTSTATUS: return Https::Failure::certificate;
    case CURLE_WRITE_ERROR:
    case CURLE_FILESIZE_EXCEEDED: return Https::Failure::too_large;
    default: return Https::Failure::connection;
    }
}

} // namespace

struct Https::Exchange::Parts {
    Https& https;
    Done done;
    Answer answer = {};
    std::size_t largest = 0, header = 0;
    std::string content; // sent
    char error[CURL_ERROR_SIZE] = "";
    std::unique_ptr<curl_slist, FreeList> addresses = {}, fields = {};
    std::unique_ptr<CURL, FreeEasy> easy = {};
    bool added = false;

    void add_field(const std::string& field) {
        auto* all = curl_slist_append(fields.get(), field.c_str());
        assert(all && "out of memory");
        static_cast<void>(fields.release());
        fields.reset(all);
    }
    static std::size_t take(char* bytes, std::size_t one, std::size_t count, void* self) {
        auto& parts = *static_cast<Parts*>(self);
        if (parts.answer.content.size() + one * count > parts.largest) return 0;
        parts.answer.content.append(bytes, one * count);
        return one * count;
    }
    static std::size_t take_field(char*, std::size_t one, std::size_t count, void* self) {
        auto& parts = *static_cast<Parts*>(self);
        parts.header += one * count;
        return parts.header > largest_header ? 0 : one * count;
    }
};

Https::Exchange::Exchange(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Https::Exchange::~Exchange() {
    if (parts_->added) curl_multi_remove_handle(static_cast<CURLM*>(parts_->https.multi_), parts_->easy.get());
}

// What libcurl calls.
struct Https::Curl {
    static int socket_wanted(CURL*, curl_socket_t socket, int what, void* self, void*) {
        auto& https = *static_cast<Https*>(self);
        if (what == CURL_POLL_REMOVE) {
            https.sockets_.erase(socket);
            return 0;
        }
        auto& poll = https.sockets_[socket];
        if (!poll) poll = make_poll(https.loop_.uv(), &https, socket);
        if (!poll) return -1;
        uv_poll_start(poll.get(), (what & CURL_POLL_IN ? UV_READABLE : 0) | (what & CURL_POLL_OUT ? UV_WRITABLE : 0),
                      [](uv_poll_t* handle, int status, int events) {
                          auto* self = owner_of<Https>(handle);
                          uv_os_fd_t fd = -1;
                          if (!self || uv_fileno(reinterpret_cast<uv_handle_t*>(handle), &fd) != 0) return;
                          self->act(fd, status < 0 ? CURL_CSELECT_ERR
                                                   : (events & UV_READABLE ? CURL_CSELECT_IN : 0) |
                                                         (events & UV_WRITABLE ? CURL_CSELECT_OUT : 0));
                      });
        return 0;
    }
    static int timer_wanted(CURLM*, long milliseconds, void* self) {
        auto& https = *static_cast<Https*>(self);
        if (milliseconds < 0)
            https.timer_.stop();
        else
            https.timer_.start(std::chrono::milliseconds(milliseconds));
        return 0;
    }
};

Https::Https(Loop& loop, std::string authorities)
    : loop_(loop), authorities_(std::move(authorities)), timer_(loop, [this] { act(CURL_SOCKET_TIMEOUT, 0); }),
      hook_(loop, [this] { take_finished(); }) {
    curl_global_init(CURL_GLOBAL_DEFAULT);
    auto* multi = curl_multi_init();
    assert(multi && "out of memory");
    curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, Curl::socket_wanted);
    curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, this);
    curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, Curl::timer_wanted);
    curl_multi_setopt(multi, CURLMOPT_TIMERDATA, this);
    multi_ = multi;
}

Https::~Https() {
    curl_multi_cleanup(static_cast<CURLM*>(multi_));
    curl_global_cleanup();
}

std::unique_ptr<Https::Exchange> Https::start(Request request, Done done) {
    auto parts = std::make_unique<Exchange::Parts>(*this, std::move(done));
    parts->largest = request.largest;
    parts->content = std::move(request.content);
    if (!request.addresses.empty()) {
        std::string known = fmt::format("{}:{}:", request.host, request.port);
        for (const auto& address : request.addresses)
            known += (known.ends_with(':') ? "" : ",") +
                     (address.is_v4() ? address.to_string() : "[" + address.to_string() + "]");
        parts->addresses.reset(curl_slist_append(nullptr, known.c_str()));
        assert(parts->addresses && "out of memory");
    }
    parts->easy.reset(curl_easy_init());
    CURL* easy = parts->easy.get();
    assert(easy && "out of memory");
    const auto set = [easy](CURLoption option, auto value) {
        const auto taken = curl_easy_setopt(easy, option, value);
        assert(taken == CURLE_OK && "libcurl lacks an option that its header files define");
        static_cast<void>(taken);
    };
    const auto* scheme = request.encrypted ? "https" : "http";
    set(CURLOPT_URL, fmt::format("{}://{}:{}{}", scheme, request.host, request.port, request.target).c_str());
    set(CURLOPT_PROTOCOLS_STR, scheme);
    set(CURLOPT_FOLLOWLOCATION, 0L);
    set(CURLOPT_PROXY, ""); // regardless of the environment
    set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
    if (parts->addresses) set(CURLOPT_RESOLVE, parts->addresses.get());
    set(CURLOPT_FRESH_CONNECT, request.keep_connection ? 0L : 1L);
    set(CURLOPT_FORBID_REUSE, request.keep_connection ? 0L : 1L);
    set(CURLOPT_QUICK_EXIT, 1L); // a lookup that is not awaited any longer does not block us
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
    set(CURLOPT_SSL_VERIFYPEER, 1L);
    set(CURLOPT_SSL_VERIFYHOST, 2L);
    set(CURLOPT_CAPATH, static_cast<const char*>(nullptr));
    set(CURLOPT_CAINFO, static_cast<const char*>(nullptr));
    if (!authorities_.empty()) {
        curl_blob blob{authorities_.data(), authorities_.size(), CURL_BLOB_NOCOPY};
        set(CURLOPT_CAINFO_BLOB, &blob);
    }
    set(CURLOPT_TIMEOUT_MS, static_cast<long>(request.timeout.count() / 1000));
    set(CURLOPT_WRITEFUNCTION, Exchange::Parts::take);
    set(CURLOPT_WRITEDATA, parts.get());
    set(CURLOPT_HEADERFUNCTION, Exchange::Parts::take_field);
    set(CURLOPT_HEADERDATA, parts.get());
    set(CURLOPT_ERRORBUFFER, parts->error);
    set(CURLOPT_PRIVATE, parts.get());
    for (const auto& field : request.fields) parts->add_field(field);
    if (!request.content_type.empty()) {
        parts->add_field("Content-Type: " + request.content_type);
        // No asking before, unless the caller wants it.
        if (std::ranges::none_of(request.fields, [](const auto& each) { return each.starts_with("Expect:"); }))
            parts->add_field("Expect:");
        set(CURLOPT_POSTFIELDS, parts->content.data());
        set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(parts->content.size()));
    }
    if (parts->fields) set(CURLOPT_HTTPHEADER, parts->fields.get());
    parts->added = curl_multi_add_handle(static_cast<CURLM*>(multi_), easy) == CURLM_OK;
    assert(parts->added && "out of memory");
    return std::unique_ptr<Exchange>(new Exchange(std::move(parts)));
}

void Https::act(int socket, int events) {
    int running = 0;
    curl_multi_socket_action(static_cast<CURLM*>(multi_), socket, events, &running);
    hook_.schedule(); // neither from within libcurl, nor while the poll's callback runs
}

void Https::take_finished() {
    int left = 0;
    while (const auto* message = curl_multi_info_read(static_cast<CURLM*>(multi_), &left)) {
        if (message->msg != CURLMSG_DONE) continue;
        CURL* easy = message->easy_handle;
        const auto code = message->data.result;
        Exchange::Parts* parts = nullptr;
        curl_easy_getinfo(easy, CURLINFO_PRIVATE, &parts);
        auto answer = std::move(parts->answer);
        long status = 0;
        const char* type = nullptr;
        curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
        curl_easy_getinfo(easy, CURLINFO_CONTENT_TYPE, &type);
        long request_size = 0;
        curl_easy_getinfo(easy, CURLINFO_REQUEST_SIZE, &request_size);
        answer.sent = request_size > 0;
        answer.status = static_cast<unsigned>(status);
        answer.content_type = media_type(type);
        curl_off_t seconds = 0;
        if (curl_easy_getinfo(easy, CURLINFO_RETRY_AFTER, &seconds) == CURLE_OK && seconds > 0)
            answer.retry_after = std::chrono::seconds(std::min<curl_off_t>(seconds, 365 * 24 * 3600));
        answer.failure = failure_of(code);
        if (answer.failure == Failure::too_large) {
            answer.why = "the answer is too large";
        } else if (answer.failure != Failure::none) {
            answer.why = parts->error[0] ? parts->error : curl_easy_strerror(code);
            for (char& c : answer.why)
                if (static_cast<unsigned char>(c) < ' ' || static_cast<unsigned char>(c) > '~') c = '?';
        }
        curl_multi_remove_handle(static_cast<CURLM*>(multi_), easy);
        parts->added = false;
        const auto done = std::move(parts->done);
        done(answer); // the exchange may be gone after it
    }
}

} // namespace common
