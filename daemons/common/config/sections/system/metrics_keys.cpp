// The keys of the figures for Prometheus.
#include "daemons/common/config/schema/value_types.h"
#include "daemons/common/config/sections/key_tables.h"
#include "daemons/common/config/sections/system/metrics.h"

namespace config {

Section section_for(Metrics& s) {
    return {"metrics",
            "Figures for Prometheus, served over HTTP as /metrics by a process of their own; see postrider-metrics(8).",
            {
                {"listen", endpoints(s.listen, 9525),
                 "Addresses to serve them at; by default nowhere, and then no process runs for it. Whoever can connect "
                 "there can read them, names of links among them: keep to loopback, or to a network of your own. The port "
                 "is 9525 where none is given.",
                 "[\"127.0.0.1:9525\"]"},
                {"links", IntKey{&s.links, 0, 1000},
                 "So many links have figures of their own, the busiest ones; all others are told together.", ""},
            }};
}

} // namespace config
