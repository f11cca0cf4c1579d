// queue-manager: decides which message goes where, and when. See postrider-queue-manager(8).
#include "daemons/queue-manager/queue_manager.h"

int main() { return common::run_daemon<queue_manager::QueueManager>(proto::Role::queue_manager, "qmgr", 1); }
