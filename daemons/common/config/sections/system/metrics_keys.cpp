// The keys of the metrics for Prometheus.
#include "daemons/common/config/schema/value_types.h"
#include "daemons/common/config/sections/key_tables.h"
#include "daemons/common/config/sections/system/metrics.h"

namespace config {

Section section_for(Metrics& s) {
    return {"metrics",
            "Metrics for Prometheus, served over HTTP as /metrics by a separate process; see postrider-metrics(8).",
            {
                {"listen", endpoints(s.listen, 9525),
                 "Addresses where metrics are served. By default there are none, and the process does not run. Any "
                 "client that can connect can read the metrics, including names of links: use loopback or a private "
                 "network. The default port is 9525.",
                 "[\"127.0.0.1:9525\"]"},
                {"links", IntKey{&s.links, 0, 1000},
                 "Maximum number of links with metrics of their own: the busiest ones. All others are combined.", ""},
            }};
}

} // namespace config
