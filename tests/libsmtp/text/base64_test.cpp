#include "libsmtp/text/base64.h"
#include <doctest/doctest.h>

using namespace smtp;

TEST_CASE("base64 there and back") { // RFC 4648, 10
    const std::pair<std::string, std::string> rows[] = {{"", ""},
                                                        {"f", "Zg=="},
                                                        {"fo", "Zm8="},
                                                        {"foo", "Zm9v"},
                                                        {"foob", "Zm9vYg=="},
                                                        {"fooba", "Zm9vYmE="},
                                                        {"foobar", "Zm9vYmFy"},
                                                        {std::string("\0\xff\x80", 3), "AP+A"}};
    for (const auto& [bytes, text] : rows) {
        CHECK(encode_base64(bytes) == text);
        CHECK(decode_base64(text) == bytes);
    }
    for (auto odd : {"Z", "Zg", "Zg=", "Z===", "====", "Zg==Zg==", "Zh==", "Zm9=", "Zm 9", "Zm9v\n", "Zm-v", "=Zg="})
        CHECK_MESSAGE(!decode_base64(odd), odd);
}
