#include "daemons/http/backend/metrics_client.h"
#include <utility>

namespace http {

namespace scrape = proto::metrics_text;

void MetricsClient::ask(Done done) {
    if (waiting_.size() >= most_waiting) return context_.loop.defer([done = std::move(done)] { done({}); });
    waiting_.push_back(std::move(done));
    if (!patience_.armed()) patience_.start(patience);
    if (connector_) return send();
    connector_ = std::make_unique<ipc::Connector<scrape::Message>>(
        context_.loop, context_.log, context_.run_directory + "/private/metrics", scrape::conversation,
        context_.identity,
        ipc::Connector<scrape::Message>::Callbacks{
            .on_message = [this](scrape::Message&& message) { take(std::move(message)); },
            .on_up = [this] { send(); },
            .on_down = [this](const std::string&) { give_up(); }});
}

void MetricsClient::send() {
    if (asked_ || waiting_.empty() || !connector_->up()) return;
    asked_ = connector_->send(scrape::Scrape{});
}

void MetricsClient::take(scrape::Message&& message) {
    auto* piece = std::get_if<scrape::Piece>(&message);
    if (!piece || !asked_ || text_.size() + piece->text.size() > largest_text)
        return connector_->fail("an answer that is not valid");
    text_ += piece->text;
    if (!piece->last) return;
    asked_ = false;
    answer(std::exchange(text_, {}));
}

void MetricsClient::give_up() {
    const bool was_asked = std::exchange(asked_, false);
    text_.clear();
    answer({});
    if (was_asked && connector_->up()) connector_->fail("no answer"); // it would be taken for that of the next request
}

void MetricsClient::answer(const std::optional<std::string>& text) {
    patience_.stop();
    for (const auto& done : std::exchange(waiting_, {})) done(text);
}

} // namespace http
