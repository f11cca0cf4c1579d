// smtp-client: takes messages to their next hops. See postrider-smtp-client(8).
#include "daemons/smtp-client/smtp_client.h"

int main() { return common::run_daemon<smtp_client::SmtpClient>(proto::Role::smtp_client, "smtp"); }
