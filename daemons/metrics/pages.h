// The pages that are served to scrapers and probes: GET of these, and / with a hint; anything else is rejected. Each is
// made after a collection, once for all that wait for it. Knows nothing about metrics.
#pragma once
#include "daemons/common/web/server.h"
#include "daemons/metrics/page.h"
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace metrics {

class Pages final : public web::Handler {
public:
    // Collects what the pages show; calls `done` once, at once or in a later turn.
    using Collect = std::function<void(std::function<void()> done)>;
    using Makers = std::map<std::string, std::function<Page()>, std::less<>>; // by path

    Pages(Makers makers, Collect collect) : makers_(std::move(makers)), collect_(std::move(collect)) {}

    std::expected<std::uint64_t, web::Rejection> begin(const web::Request& request) override;
    void handle(std::shared_ptr<web::Exchange> exchange) override;
    web::Response reject(unsigned status, std::string_view why) override;

private:
    void answer();
    Makers makers_;
    Collect collect_;
    std::vector<std::shared_ptr<web::Exchange>> waiting_;
    bool asking_ = false;
    std::shared_ptr<int> life_ = std::make_shared<int>();
};

} // namespace metrics
