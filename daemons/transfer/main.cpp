// transfer: moves messages to other nodes. See postrider-transfer(8).
#include "daemons/transfer/transfer.h"

int main() { return common::run_daemon<transfer::Transfer>(proto::Role::transfer, "transfer"); }
