// postrider token: makes, lists, shows and removes the tokens of the API's clients. Works without any daemon; the http
// process sees the changed file by itself.
#pragma once
#include "daemons/common/terminal/arguments.h"

namespace postrider {

int token_add(const Arguments& arguments);
int token_list(const Arguments& arguments);
int token_show(const Arguments& arguments);
int token_remove(const Arguments& arguments);

} // namespace postrider
