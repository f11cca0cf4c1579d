#include "daemons/queue-manager/queue_manager.h"

int main() { return common::run_daemon<queue_manager::QueueManager>(proto::Role::queue_manager, "qmgr", 1); }
