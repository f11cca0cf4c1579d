// postqueue, postsuper, postcat, postconf, postmap, postalias: by the name they are called by.
#include "daemons/postfix-commands/command.h"

int main(int argc, char** argv) { return postfix_commands::run({argv, argv + argc}); }
