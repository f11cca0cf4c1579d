"""A content filter behind the queue, as amavis is one: it sends what it gets back to another port before it answers."""
import smtplib

from .sink import Sink

EXTENSIONS = ("PIPELINING", "8BITMIME", "ENHANCEDSTATUSCODES", "SIZE 104857600", "DSN", "XFORWARD NAME ADDR PORT PROTO HELO IDENT SOURCE")


class ContentFilter(Sink):
    """filter.seen: (sender, recipients, text) of each message that came. What passes is marked: X-Filtered."""

    def __init__(self, address, port, back, extensions=EXTENSIONS):
        self.back, self.seen = back, []
        super().__init__(address, port, extensions)
        self.work()

    def work(self):
        self.well_behaved()
        self.at("content", self.note_envelope)
        self.at("dot", self.give_back)

    def note_envelope(self, session, argument):
        session.envelope = (session.sender, list(session.recipients))

    def give_back(self, session, text):
        sender, recipients = session.envelope
        self.seen.append((sender, recipients, text))
        with smtplib.SMTP(*self.back, timeout=30) as there:
            there.sendmail(sender, recipients, "X-Filtered: yes\r\n" + text)
            return "250 2.0.0 Ok, passed on"

    def said(self, word):
        """The commands with that word, in order."""
        return [line for _, line in self.commands if line.upper().startswith(word)]
