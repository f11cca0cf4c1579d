#include "daemons/http/streams/content.h"
#include "daemons/common/proto/control.h"
#include "daemons/http/endpoints/answers.h"
#include "libsmtp/text/base64.h"
#include <nlohmann/json.hpp>

namespace http {

namespace {

// One client that reads. Kept by what it waits for.
class ContentReader : public std::enable_shared_from_this<ContentReader> {
public:
    ContentReader(Services& services, std::shared_ptr<Call> call) : services_(services), call_(std::move(call)) {}

    void ask() {
        services_.queue.ask(call_->caller().principal,
                            {{"op", proto::control::op::content}, {"id", call_->value(0)}, {"offset", offset_}},
                            [self = shared_from_this()](const QueueClient::Answer& answer) { self->take(answer); });
    }

private:
    // The status cannot be changed after the first piece: then only the end of the connection says that it failed.
    void take(const QueueClient::Answer& answer) {
        const auto& exchange = call_->shared_exchange();
        const bool good = !answer.failure && !answer.lines.empty();
        const auto piece = good ? smtp::decode_base64(answer.lines.front().value("content", "")) : std::nullopt;
        if (offset_ > 0 && (!piece || piece->empty())) return exchange->abort();
        if (!good) return call_->respond(answer.failure ? problem_of(*answer.failure) : not_valid());
        if (!piece) return call_->respond(not_valid());
        if (offset_ == 0) begin();
        exchange->write(*piece);
        offset_ += piece->size();
        if (offset_ >= answer.lines.front().value("size", std::uint64_t{0})) exchange->end();
    }
    void begin() {
        const auto& exchange = call_->shared_exchange();
        exchange->on_drained([self = shared_from_this()] { self->ask(); });
        exchange->begin_stream({.status = 200,
                                .type = std::string(rfc822_type),
                                .body = {},
                                .headers = {{"Cache-Control", "no-store"}, {"X-Content-Type-Options", "nosniff"}}});
    }
    static Problem not_valid() { return {500, "failed", "The queue-manager's answer is not valid."}; }

    Services& services_;
    std::shared_ptr<Call> call_;
    std::uint64_t offset_ = 0;
};

} // namespace

void add_content(Router& router, Services& services) {
    router.add({.method = "GET",
                .path = "/v1/messages/{id}/content",
                .scope = tokens::Scope::read_content,
                .summary = "Read the message itself, while it is queued or kept",
                .answer_types = {rfc822_type},
                .statuses = {200, 400, 403, 404, 500, 503},
                .handle = [&services](const std::shared_ptr<Call>& call) {
                    if (!services.content)
                        return call->respond(Problem{403, "not-permitted",
                                                     "Mail cannot be read through the API, unless http.content is true "
                                                     "in the configuration."});
                    std::make_shared<ContentReader>(services, call)->ask();
                }});
}

} // namespace http
