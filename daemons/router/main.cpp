// router: finds out where mail for a domain goes. See postrider-router(8).
#include "daemons/router/router.h"

int main() { return common::run_daemon<router::Router>(proto::Role::router, "router"); }
