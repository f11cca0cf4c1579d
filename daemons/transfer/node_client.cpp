#include "daemons/transfer/node_client.h"
#include <cassert>

namespace transfer {

using common::Https;

namespace {

constexpr std::size_t largest_node_answer = 64 * 1024;
constexpr std::size_t asked_above = 64 * 1024; // less is sent at once

common::WebAddress api_address_of(const config::Node& node) {
    const auto address = common::WebAddress::parse(node.url);
    assert(address && "checked by the configuration");
    return *address;
}

} // namespace

NodeClient::NodeClient(common::Loop& loop, Settings settings)
    : settings_(std::move(settings)), address_(api_address_of(settings_.node)),
      https_(loop, settings_.access.authorities) {}

std::unique_ptr<Https::Exchange> NodeClient::send(std::string body, Https::Done done) {
    Https::Request request;
    request.encrypted = address_.encrypted;
    request.host = address_.host;
    request.port = address_.port;
    request.target = "/v1/transfer";
    // A node that refuses a body by its header closes the connection. Its answer is lost if we are still sending.
    const bool asks = body.size() > asked_above;
    request.content = std::move(body);
    request.content_type = "application/vnd.postrider.message";
    request.fields = {"Authorization: Bearer " + settings_.access.token, "User-Agent: Postrider"};
    if (asks) request.fields.emplace_back("Expect: 100-continue");
    request.keep_connection = true;
    request.largest = largest_node_answer;
    request.timeout = settings_.node.timeout;
    return https_.start(std::move(request), std::move(done));
}

} // namespace transfer
