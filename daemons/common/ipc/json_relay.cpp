#include "daemons/common/ipc/json_relay.h"
#include "daemons/common/runtime/destroy_later.h"
#include <nlohmann/json.hpp>
#include <utility>

namespace ipc {

using nlohmann::json;
using namespace proto::relayed_control;

JsonRelay::JsonRelay(common::Loop& loop, common::Log& log, JsonServer::Handler handler, Allowed allowed)
    : loop_(loop), log_(log), handler_(std::move(handler)), allowed_(std::move(allowed)) {}

JsonRelay::~JsonRelay() = default;

void JsonRelay::attach(std::unique_ptr<Channel> channel) {
    if (peers_.size() >= most_peers) return channel->fail("too many connections");
    const auto number = ++last_ | mark;
    auto& peer = peers_[number];
    peer.channel = std::move(channel);
    peer.channel->set_callbacks({[this, number](Message&& message) {
                                     if (const auto* request = std::get_if<Request>(&message))
                                         take(number, *request);
                                     else if (auto* odd = find(number))
                                         odd->channel->fail("an answer instead of a request");
                                 },
                                 [this, number](const std::string&) { forget(number); },
                                 [this, number] { drained(number); }});
}

JsonRelay::Peer* JsonRelay::find(std::uint64_t peer) {
    const auto found = peers_.find(peer);
    return found == peers_.end() ? nullptr : &found->second;
}

void JsonRelay::take(std::uint64_t number, const Request& request) {
    auto* peer = find(number);
    if (peer->busy || request.body.size() > longest_request || request.who.size() > 300)
        return peer->channel->fail("a request that is not valid");
    peer->busy = true;
    const auto body = json::parse(request.body, nullptr, false);
    const auto operation = body.is_object() ? body.value("op", json()) : json();
    if (!operation.is_string()) {
        refuse(number, "not a JSON object with \"op\"");
        return;
    }
    const auto& name = operation.get_ref<const std::string&>();
    if (!allowed_(name)) {
        log_.warning("control: {} refused: {} is not for http", request.who, name);
        refuse(number, "this operation is not available here", "not-permitted");
        return;
    }
    JsonServer::Request from{number, {}, request.who};
    if (request.who.empty()) from.credentials.uid = request.uid;
    log_.info("control: http {} {}", request.who.empty() ? "uid=" + std::to_string(request.uid) : request.who,
              text_of_request(body));
    try {
        handler_(from, body);
    } catch (const json::exception& odd) { // a field of another type than the operation reads
        refuse(number, std::string("invalid request: ") + odd.what());
    }
}

bool JsonRelay::send(std::uint64_t number, const json& line) {
    auto* peer = find(number);
    if (!peer || !peer->busy || !peer->channel->open()) return false;
    const auto text = line.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
    for (std::size_t at = 0; at < text.size(); at += longest_piece)
        if (peer->channel->send(Lines{text.substr(at, longest_piece)}) == SendResult::too_long) return false;
    if (peer->channel->unsent() > max_unread) peer->channel->fail("too much of an answer is unread");
    return true;
}

bool JsonRelay::finish(std::uint64_t number) {
    if (!send(number, {{"done", true}})) return false;
    auto* peer = find(number);
    peer->busy = false;
    peer->room = peer->left = nullptr;
    return true;
}

bool JsonRelay::refuse(std::uint64_t number, std::string_view error, std::string_view code) {
    if (!send(number, {{"done", true}, {"error", error}, {"code", code}})) return false;
    auto* peer = find(number);
    peer->busy = false;
    peer->room = peer->left = nullptr;
    return true;
}

bool JsonRelay::congested(std::uint64_t number) const {
    const auto found = peers_.find(number);
    return found != peers_.end() && found->second.channel->congested();
}

void JsonRelay::on_writable(std::uint64_t number, std::function<void()> room) {
    if (auto* peer = find(number)) peer->room = std::move(room);
}

void JsonRelay::on_disconnect(std::uint64_t number, std::function<void()> left) {
    if (auto* peer = find(number); peer && peer->busy) peer->left = std::move(left);
}

void JsonRelay::drained(std::uint64_t number) {
    auto* peer = find(number);
    if (peer && peer->room) std::exchange(peer->room, nullptr)();
}

void JsonRelay::forget(std::uint64_t number) {
    auto peer = peers_.extract(number);
    if (!peer) return;
    const auto left = std::move(peer.mapped().left);
    common::destroy_later(loop_, std::move(peer.mapped().channel)); // its callback is running
    if (left) left();
}

} // namespace ipc
