#include "daemons/http/streams/try.h"
#include "daemons/common/proto/control.h"
#include "daemons/http/endpoints/answers.h"
#include "daemons/http/requests/json_reader.h"
#include "daemons/http/requests/schemas.h"
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace http {

using nlohmann::json;

namespace {

// A client that waits for the steps. It gets a response of its own if there is not even the first one.
class Steps {
public:
    explicit Steps(std::shared_ptr<Call> call)
        : call_(std::move(call)), server_sent_(names_type(call_->request().header("accept"), event_stream_type)) {}

    bool unwanted() const { return call_->shared_exchange()->gone(); }
    void add(const json& step) {
        begin();
        write("step", step);
    }
    void end(const QueueClient::Answer& answer) {
        if (answer.failure && !begun_) return call_->respond(problem_of(*answer.failure));
        begin();
        if (answer.failure) write("error", {{"error", answer.failure->text}});
        call_->shared_exchange()->end();
    }

private:
    void begin() {
        if (std::exchange(begun_, true)) return;
        call_->shared_exchange()->begin_stream({.status = 200,
                                                .type = std::string(server_sent_ ? event_stream_type : lines_type),
                                                .body = {},
                                                .headers = {{"Cache-Control", "no-store"}}});
    }
    void write(std::string_view event, const json& data) {
        const auto text = text_of(data);
        call_->shared_exchange()->write(server_sent_ ? fmt::format("event: {}\ndata: {}\n\n", event, text)
                                                     : text + "\n");
    }

    std::shared_ptr<Call> call_;
    const bool server_sent_;
    bool begun_ = false;
};

void try_address(Services& services, const std::shared_ptr<Call>& call) {
    const auto object = read_json(call->request().body);
    if (!object) return call->respond(object.error());
    Members members(*object);
    json request = {{"op", proto::control::op::attempt},
                    {"address", members.text("address")},
                    {"from", members.text("from")},
                    {"host", members.text("host")},
                    {"every_host", members.flag("every_host")},
                    {"dialogue", members.flag("dialogue")}};
    if (!members.has("address")) members.wrong("address", "an address");
    if (const auto wrong = members.problem()) return call->respond(*wrong);
    const auto steps = std::make_shared<Steps>(call);
    services.queue.ask(
        call->caller().principal, std::move(request),
        [steps](const QueueClient::Answer& answer) { steps->end(answer); },
        [steps](const json& step) { steps->add(step); }, QueueClient::patience * 10,
        [&services, steps] { return services.stopping || steps->unwanted(); });
    call->shared_exchange()->on_gone([&services] { services.queue.cancel_unwanted(); });
}

} // namespace

void add_try(Router& router, Services& services) {
    router.add({.method = "POST",
                .path = "/v1/try",
                .scope = tokens::Scope::operate,
                .summary = "Try how a delivery would go, without a message",
                .accepts = {json_type},
                .body = schema::trial,
                .answer = schema::trial_step,
                .answer_types = {lines_type, event_stream_type},
                .statuses = {200, 400, 415, 503},
                .handle = [&services](const std::shared_ptr<Call>& call) { try_address(services, call); }});
}

} // namespace http
