// http: the API, for applications. See postrider-http(8).
#include "daemons/http/http.h"

int main() { return common::run_daemon<http::Http>(proto::Role::http, "http"); }
