// One request to the API as its handler sees it: who asks, the variables of the path, and how to answer. Value-like;
// kept until it is answered.
#pragma once
#include "daemons/common/tokens/token.h"
#include "daemons/common/web/exchange.h"
#include "daemons/http/requests/problem.h"
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace http {

// On whose behalf the queue-manager is asked.
struct Principal {
    std::uint32_t uid = 0; // of the user, if `name` is empty
    std::string name;      // "token shop"
};

struct Caller {
    Principal principal;
    tokens::Scopes scopes = {};
    std::string submitter;                        // of its mail: "token:shop"
    std::vector<std::string> sender_domains = {}; // empty: any
    std::uint32_t rate = 0;                       // requests per second; 0: no limit
    std::string form_token = {};                  // that forms of its session must have; empty: there is no session
};

class Call {
public:
    Call(std::shared_ptr<web::Exchange> exchange, std::vector<std::string> values, Caller caller)
        : exchange_(std::move(exchange)), values_(std::move(values)), caller_(std::move(caller)) {}

    web::Request& request() const { return exchange_->request(); }
    const std::shared_ptr<web::Exchange>& shared_exchange() const { return exchange_; }
    const std::string& value(std::size_t number) const { return values_.at(number); }
    const Caller& caller() const { return caller_; }
    std::string_view parameter(std::string_view name) const { return request().parameter(name); }

    void respond(web::Response response) const { exchange_->respond(std::move(response)); }
    void respond(const Problem& problem) const { exchange_->respond(response_to(problem)); }

private:
    std::shared_ptr<web::Exchange> exchange_;
    std::vector<std::string> values_;
    Caller caller_;
};

} // namespace http
