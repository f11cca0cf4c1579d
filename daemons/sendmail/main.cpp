// sendmail, mailq, newaliases: by the name they are called by. See sendmail(1).
#include "daemons/sendmail/sendmail.h"

int main(int argc, char** argv) {
    return sendmail::run(argc > 0 ? argv[0] : "sendmail",
                         argc > 1 ? std::vector<std::string>(argv + 1, argv + argc) : std::vector<std::string>());
}
