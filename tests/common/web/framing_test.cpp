#include "daemons/common/web/framing.h"
#include <doctest/doctest.h>

using web::framing_of;

TEST_CASE("where a body ends") {
    CHECK(framing_of({{"host", "x"}})->length == 0);
    CHECK(framing_of({{"content-length", "17"}})->length == 17);
    CHECK_FALSE(framing_of({{"transfer-encoding", "Chunked"}})->length);
}

TEST_CASE("a request whose end could be understood differently is rejected") {
    using web::Fields;
    for (const auto& headers :
         {Fields{{"content-length", "1"}, {"transfer-encoding", "chunked"}},
          Fields{{"content-length", "1"}, {"content-length", "1"}}, Fields{{"content-length", "1, 1"}},
          Fields{{"content-length", "+1"}}, Fields{{"content-length", "-1"}}, Fields{{"content-length", ""}},
          Fields{{"content-length", "0x1"}}, Fields{{"content-length", "99999999999999999999"}},
          Fields{{"transfer-encoding", "gzip, chunked"}}, Fields{{"transfer-encoding", "\vchunked"}},
          Fields{{"transfer-encoding", "chunked"}, {"transfer-encoding", "chunked"}},
          Fields{{"transfer-encoding ", "chunked"}}, Fields{{"host", "a"}, {"host", "b"}}, Fields{{"", "a"}},
          Fields{{"x y", "a"}}})
        CHECK_FALSE(framing_of(headers));
}
