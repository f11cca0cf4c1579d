// smtpd: the SMTP server. See postrider-smtpd(8).
#include "daemons/smtpd/smtpd.h"

int main() { return common::run_daemon<smtpd::Smtpd>(proto::Role::smtpd, "smtpd"); }
