#include "daemons/queue-manager/conversion/snapshot_host.h"
#include "libspool/format/fields.h"
#include <doctest/doctest.h>

using queue_manager::SnapshotHost;

TEST_CASE("a host is read from the snapshot as it was: TLS from the first byte, protocol, rank, account") {
    using spool::fields::Writer;
    const proto::route::Host hosts[] = {
        {"mx.test"},
        {"mx.test", 465, 10, 7, decide::Tier::second, true},
        {"/run/store", 24, 0, 0, decide::Tier::fallback, false, smtp::Protocol::lmtp},
        {"smtp.test", 587, 0, 0, decide::Tier::first, true, smtp::Protocol::smtp, "ann@example.com"},
    };
    for (const auto& host : hosts) {
        const auto read = spool::fields::read<SnapshotHost>(Writer::bytes_of(SnapshotHost{host}), "host");
        REQUIRE(read);
        CHECK(read->host == host);
    }
}
