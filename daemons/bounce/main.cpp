// bounce: writes the reports that tell senders what became of their mail. See postrider-bounce(8).
#include "daemons/bounce/bounce.h"

int main() { return common::run_daemon<bounce::Bounce>(proto::Role::bounce, "bounce"); }
