#include "daemons/decide/hooks/verdict.h"

namespace decide::hooks {

Verdict verdict_of(const EndpointAnswer& answer) {
    const auto status = answer.status;
    if (status >= 200 && status < 300) return Verdict::accepted;
    if ((status == 429 || status == 503) && answer.retry_after) return Verdict::later;
    switch (status) {
    case 401:
    case 403:
    case 404: return Verdict::not_permitted;
    case 410: return Verdict::gone;
    case 413: return Verdict::too_large;
    case 408: // the request took too long
    case 425: // too early
    case 429: return Verdict::failed;
    default: return status >= 400 && status < 500 ? Verdict::refused : Verdict::failed;
    }
}

std::string text_of(const EndpointAnswer& answer) {
    if (answer.status == 0) return answer.text;
    auto text = std::to_string(answer.status);
    if (!answer.text.empty()) text += ": " + answer.text;
    return text;
}

} // namespace decide::hooks
