// metrics: the metrics of all processes, for Prometheus. See postrider-metrics(8).
#include "daemons/metrics/metrics.h"

int main() { return common::run_daemon<metrics::Metrics>(proto::Role::metrics, "metrics"); }
