// fleet: what several nodes share. See postrider-fleet(8).
#include "daemons/fleet/fleet.h"
#include <unistd.h>

// Without the destructors of libraries: a thread may still be waiting for a name server.
int main() { ::_exit(common::run_daemon<fleet::Fleet>(proto::Role::fleet, "fleet")); }
