"""aiosmtpd as a mail server beside a test: one that nobody here wrote, on IPv4 or IPv6.

    server = AioServer("::1", port)                          server.messages: what came, each with .rcpt_tos …
    AioServer(address, port, implicit=(certificate, key))    TLS from the first byte
"""
import ssl

from aiosmtpd.controller import Controller

from .watch import wait_until


class AioServer:
    def __init__(self, address, port, implicit=None, greeting_host="aio.example"):
        self.address, self.port, self.messages, self.over_tls = address, port, [], []
        context = None
        if implicit:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*implicit)
        self.controller = Controller(self, hostname=address, port=port, ssl_context=context, server_hostname=greeting_host)
        self.controller.start()

    async def handle_DATA(self, server, session, envelope):
        self.over_tls.append(session.ssl is not None or server.transport.get_extra_info("ssl_object") is not None)
        self.messages.append(envelope)
        return "250 2.0.0 Ok"

    def wait_for(self, count, seconds=15):
        wait_until(lambda: len(self.messages) >= count, seconds, lambda: f"{count} messages, {len(self.messages)} came")
        return self.messages

    def stop(self):
        self.controller.stop()
