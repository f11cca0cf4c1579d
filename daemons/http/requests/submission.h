// A message that a client submits, from its request: envelope, wishes and content; and the answer for each recipient.
// Recipients that are not valid are answered, and not submitted. Pure.
#pragma once
#include "daemons/common/proto/relayed_submission.h"
#include "daemons/http/requests/call.h"
#include <expected>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace http {

struct RefusedRecipient {
    std::string address;
    unsigned code;
    std::string status, text; // "5.1.3"
};

struct SubmissionRequest {
    std::string sender;                  // "": the null one
    std::vector<std::string> recipients; // valid, without repetitions
    std::vector<RefusedRecipient> refused;
    std::string fields; // header fields for this system, with line ends
    std::string content;
};

struct SubmissionLimits {
    std::uint64_t message_size;
    std::uint32_t recipients;
};

// message/rfc822, with the envelope in the query; or JSON.
std::expected<SubmissionRequest, Problem> read_submission(web::Request& request, const Caller& caller,
                                                          const SubmissionLimits& limits);
web::Response response_to(const proto::relayed_submission::Outcome& outcome, const SubmissionRequest& request);

} // namespace http
