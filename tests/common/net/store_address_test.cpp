#include "daemons/common/net/store_address.h"
#include <doctest/doctest.h>
#include <string>

using common::StoreAddress;

TEST_CASE("addresses of stores are taken apart") {
    CHECK(StoreAddress::parse("redis://Store.Example.com") == StoreAddress{false, "store.example.com", 6379, 0});
    CHECK(StoreAddress::parse("rediss://10.0.0.1:7000/2") == StoreAddress{true, "10.0.0.1", 7000, 2});
    CHECK(StoreAddress::parse("redis://[2001:db8::1]:7000/") == StoreAddress{false, "2001:db8::1", 7000, 0});
    CHECK(StoreAddress::parse("redis://[::1]") == StoreAddress{false, "::1", 6379, 0});
}

TEST_CASE("what is no address of a store is refused") {
    for (const std::string odd :
         {"", "store.example.com", "http://x", "redis:x", "redis://", "redis://:6379", "redis://x:0", "redis://x:70000",
          "redis://x:port", "redis://x/one", "redis://x/70000", "redis://x/1/2", "redis://[::1", "redis://[10.0.0.1]",
          "redis://a b", "redis://b\xc3\xbc", "redis://2001:db8::1"})
        CHECK_MESSAGE(!StoreAddress::parse(odd), odd);
    CHECK(!StoreAddress::parse("redis://" + std::string(StoreAddress::longest, 'a')));
    const auto password = StoreAddress::parse("redis://ann:secret@x");
    REQUIRE(!password);
    CHECK(password.error() == "has a user name or password: set fleet.user and fleet.password_file");
}
