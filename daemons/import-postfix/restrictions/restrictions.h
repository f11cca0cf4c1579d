// smtpd_*_restrictions: which of them Postrider's rules already cover, which become a section of their own, and which
// have no counterpart, word by word.
#pragma once

namespace postrider {

class Import;

void import_restrictions(Import& import); // a step after the listeners

} // namespace postrider
