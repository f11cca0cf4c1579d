"""A mail server that others wrote: aiosmtpd, with STARTTLS; and somebody in the middle who strips it."""
import socket
import ssl
import threading

from aiosmtpd.controller import Controller

from .watch import wait_until


class Stranger(Controller):
    """messages: [(recipients, was it TLS, the name asked for by SNI)]."""

    def __init__(self, address, certificate=None, port=25):
        self.messages, self.asked_for = [], None
        context = None
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*certificate)
            context.sni_callback = self.notice_name
        super().__init__(self, hostname=address, port=port, tls_context=context, server_hostname="stranger.example")
        self.start()

    def notice_name(self, connection, name, context):
        self.asked_for = name

    async def handle_DATA(self, server, session, envelope):
        self.messages.append((list(envelope.rcpt_tos), session.ssl is not None, self.asked_for))
        return "250 2.0.0 Taken"

    def wait_for(self, count, seconds=15):
        wait_until(lambda: len(self.messages) >= count, seconds, lambda: f"{count} messages, {len(self.messages)} came")
        return self.messages


class Stripper:
    """Hands on what it hears, without the word STARTTLS."""

    def __init__(self, address, to, port=25):
        self.to = to
        self.listener = socket.create_server((address, port))
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            server = socket.create_connection(self.to)
            threading.Thread(target=hand_on, args=(client, server, lambda b: b), daemon=True).start()
            threading.Thread(target=hand_on, args=(server, client, lambda b: b.replace(b"STARTTLS", b"XXXXXXXX")), daemon=True).start()

    def stop(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()


def hand_on(here, there, change):
    try:
        while piece := here.recv(65536):
            there.sendall(change(piece))
        there.shutdown(socket.SHUT_WR)
    except OSError:
        pass
