// maps: tables in databases. See postrider-maps(8).
#include "daemons/maps/maps.h"
#include <unistd.h>

// Without the destructors of libraries: a thread may still be waiting in one of them for a server.
int main() { ::_exit(common::run_daemon<maps::Maps>(proto::Role::maps, "maps")); }
