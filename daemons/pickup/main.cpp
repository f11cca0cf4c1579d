// pickup: takes mail from programs on this host. See postrider-pickup(8).
#include "daemons/pickup/pickup.h"

int main() { return common::run_daemon<pickup::Pickup>(proto::Role::pickup, "pickup"); }
