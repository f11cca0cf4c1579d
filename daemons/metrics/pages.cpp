#include "daemons/metrics/pages.h"
#include <utility>

namespace metrics {

namespace {

constexpr std::string_view hint =
    "The metrics of Postrider for Prometheus are at /metrics, probes at /healthz and /readyz.\n";
constexpr unsigned not_found = 404, method_not_allowed = 405;
constexpr std::uint64_t largest_body = 4096; // which is ignored

} // namespace

std::expected<std::uint64_t, web::Rejection> Pages::begin(const web::Request& request) {
    if (request.method != "GET" && request.method != "HEAD")
        return std::unexpected(web::Rejection{
            {.status = method_not_allowed, .body = "Only GET is served here.\n", .headers = {{"Allow", "GET, HEAD"}}}});
    if (request.path != "/" && !makers_.contains(request.path))
        return std::unexpected(web::Rejection{{.status = not_found, .body = std::string(hint)}});
    return largest_body;
}

void Pages::handle(std::shared_ptr<web::Exchange> exchange) {
    if (exchange->request().path == "/") return exchange->respond({.body = std::string(hint)});
    waiting_.push_back(std::move(exchange));
    if (std::exchange(asking_, true)) return;
    collect_([this, alive = std::weak_ptr(life_)] {
        if (!alive.expired()) answer();
    });
}

void Pages::answer() {
    asking_ = false;
    std::map<std::string_view, Page> made;
    const auto waiting = std::exchange(waiting_, {});
    for (const auto& exchange : waiting) {
        const std::string_view path = exchange->request().path;
        auto page = made.find(path);
        if (page == made.end()) page = made.emplace(path, makers_.find(path)->second()).first;
        exchange->respond({.status = page->second.status, .type = page->second.type, .body = page->second.text});
    }
}

web::Response Pages::reject(unsigned status, std::string_view why) {
    return {.status = status, .body = std::string(why) + "\n"};
}

} // namespace metrics
