// categorizer: finds out who the recipients of mail really are. See postrider-categorizer(8).
#include "daemons/categorizer/categorizer.h"

int main() { return common::run_daemon<categorizer::Categorizer>(proto::Role::categorizer, "cleanup"); }
