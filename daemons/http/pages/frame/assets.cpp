#include "daemons/http/pages/frame/assets.h"
#include "daemons/http/pages/assets/content.h"
#include "daemons/http/requests/call.h"
#include <algorithm>
#include <cassert>
#include <cstdint>
#include <fmt/format.h>

namespace http::pages {

namespace {

struct Asset {
    std::string_view name, type, content;
};

const Asset* asset_named(std::string_view name) {
    static const Asset assets[] = {
        {"page.css", "text/css; charset=utf-8", page_css},
        {"page.js", "text/javascript; charset=utf-8", page_js},
        {"icon.svg", "image/svg+xml", icon_svg},
    };
    const auto found = std::ranges::find(assets, name, &Asset::name);
    return found == std::end(assets) ? nullptr : found;
}

// FNV-1a: the content is our own.
std::string version_of(std::string_view content) {
    std::uint64_t hash = 14695981039346656037ULL;
    for (const char c : content) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
    return fmt::format("{:016x}", hash);
}

void serve(const Call& call, const Asset& asset) {
    const auto version = version_of(asset.content), tag = "\"" + version + "\"";
    const bool lasts = call.parameter("v") == version;
    web::Response response{.status = 200,
                           .type = std::string(asset.type),
                           .body = std::string(asset.content),
                           .headers = {{"ETag", tag},
                                       {"Cache-Control", lasts ? "public, max-age=31536000, immutable" : "no-cache"},
                                       {"X-Content-Type-Options", "nosniff"}}};
    if (call.request().header("if-none-match") == tag) {
        response.status = 304;
        response.body.clear();
    }
    call.respond(std::move(response));
}

} // namespace

html::Url url_of(std::string_view asset) {
    const auto* found = asset_named(asset);
    assert(found);
    return html::Url({"assets", asset}, {{"v", version_of(found->content)}});
}

void add_assets(Router& router) {
    router.add({.method = "GET",
                .path = "/assets/{name}",
                .scope = {},
                .summary = "A part of the pages",
                .handle =
                    [](const std::shared_ptr<Call>& call) {
                        const auto* found = asset_named(call->value(0));
                        if (!found) return call->respond(Problem{404, "not-found", "There is no such file."});
                        serve(*call, *found);
                    },
                .page = true});
}

} // namespace http::pages
