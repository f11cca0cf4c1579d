#include "daemons/http/pages/frame/page_routes.h"
#include <openssl/crypto.h>

namespace http::pages {

namespace {

bool are_equal(std::string_view one, std::string_view other) {
    return one.size() == other.size() && CRYPTO_memcmp(one.data(), other.data(), one.size()) == 0;
}

} // namespace

bool is_from_a_page(const web::Request& request) {
    return request.has_header("origin") || request.has_header("sec-fetch-site");
}

void PageRoutes::get(std::string_view path, tokens::Scope scope, PageHandler show) {
    router_.add({.method = "GET",
                 .path = path,
                 .scope = scope,
                 .summary = "A page",
                 .handle = [this_router = &router_, show = std::move(show)](
                               const std::shared_ptr<Call>& call) { show(std::make_shared<Page>(call, *this_router)); },
                 .page = true});
}

void PageRoutes::post(std::string_view path, tokens::Scope scope, std::optional<tokens::Scope> or_scope,
                      FormHandler carry_out) {
    const auto handle = [this_router = &router_, carry_out = std::move(carry_out)](const std::shared_ptr<Call>& call) {
        const auto page = std::make_shared<Page>(call, *this_router);
        const auto form = Form::read(call->request().body);
        if (!form) return page->fail(form.error().status, form.error().detail);
        if (!is_from_a_page(call->request()) || !are_equal(form->text(form_token_field), call->caller().form_token))
            return page->fail(403, "This form is not from a page of this session: go back, reload the page and send it "
                                   "again.");
        carry_out(page, *form);
    };
    router_.add({.method = "POST",
                 .path = path,
                 .scope = scope,
                 .or_scope = or_scope,
                 .summary = "A form of a page",
                 .accepts = {form_type},
                 .handle = handle,
                 .page = true});
}

} // namespace http::pages
