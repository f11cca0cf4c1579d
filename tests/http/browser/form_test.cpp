#include "daemons/http/browser/cookie.h"
#include "daemons/http/browser/form.h"
#include <doctest/doctest.h>

using namespace http;

TEST_CASE("a form is read as a browser writes it") {
    const auto form = Form::read("q=subject%3D%22two+words%22&empty=&why=+a%26b+&q=second");
    REQUIRE(form);
    CHECK(form->text("q") == "subject=\"two words\"");
    CHECK(form->text("empty").empty());
    CHECK(form->text("why") == "a&b");
    CHECK(form->text("none").empty());
    CHECK(Form::read(""));
    for (const auto* wrong : {"a=%", "a=%zz", "a=%00", "a=b c", "a=\x80", "a=%0d%0aX"}) {
        CAPTURE(wrong);
        CHECK(Form::read(wrong).error().status == 400);
    }
    CHECK(!Form::read(std::string(largest_form + 1, 'a')));
    std::string many;
    for (int i = 0; i < 200; ++i) many += "a=b&";
    CHECK(!Form::read(many));
}

TEST_CASE("the secret of a session is found in the cookies") {
    const auto secret = [](std::string cookies) {
        web::Request request;
        request.headers.emplace_back("cookie", std::move(cookies));
        return std::string(session_secret(request));
    };
    CHECK(secret("postrider=abc") == "abc");
    CHECK(secret("a=b; postrider=abc;c=d") == "abc");
    CHECK(secret("postrider=abc; __Host-postrider=def") == "def");
    CHECK(secret("xpostrider=abc").empty());
    CHECK(secret("postrider").empty());
    CHECK(secret("").empty());
    CHECK(session_secret({}).empty());
}

TEST_CASE("over HTTPS the cookie is bound to this host") {
    web::Request request;
    CHECK(!is_secure(request));
    request.headers.emplace_back("origin", "https://mail.example");
    CHECK(is_secure(request));
    CHECK(cookie_field("abc", true, std::chrono::hours(12)) ==
          "__Host-postrider=abc; Path=/; Max-Age=43200; HttpOnly; SameSite=Strict; Secure");
    CHECK(cookie_field("abc", false, std::chrono::hours(12)) ==
          "postrider=abc; Path=/; Max-Age=43200; HttpOnly; SameSite=Strict");
    CHECK(forgotten_cookie_field(false) == "postrider=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict");
}
